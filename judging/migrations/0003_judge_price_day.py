from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0002_judge_test_problem"),
    ]

    operations = [
        migrations.AddField(
            model_name="judge",
            name="price_day",
            field=models.DateField(
                blank=True,
                help_text="The day on which these prices were read; empty means unknown.",
                null=True,
            ),
        ),
    ]
