from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0009_open_protocols"),
    ]

    operations = [
        migrations.AlterField(
            model_name="judge",
            name="thinking_tokens",
            field=models.PositiveIntegerField(
                default=0, help_text="Tokens for thinking, in addition to those of the reply."
            ),
        ),
    ]
