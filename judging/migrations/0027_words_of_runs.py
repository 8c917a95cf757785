from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0026_runs_not_for_the_report"),
    ]

    operations = [
        migrations.AddField(
            model_name="judgerun",
            name="words",
            field=models.JSONField(
                blank=True,
                db_default={},
                default=dict,
                help_text="Every text that the model is sent, other than those of items.",
            ),
        ),
    ]
