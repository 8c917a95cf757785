"""Which judging protocols there are is checked in code: one more needs no migration."""

from django.db import migrations, models

import judging.protocols.registry


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0008_open_backends"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="judgerun", name="run_setting"),
        migrations.AlterField(
            model_name="judgerun",
            name="setting",
            field=models.CharField(
                choices=judging.protocols.registry.choices,
                default="standard",
                help_text="The judging protocol.",
                max_length=20,
            ),
        ),
    ]
