"""Which backends there are is checked in code: one more backend needs no migration."""

from django.db import migrations, models

import judging.backends.registry


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0007_what_was_sent"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="judge", name="judge_backend"),
        migrations.RemoveConstraint(model_name="judge", name="judge_probabilities"),
        migrations.RemoveConstraint(model_name="judge", name="judge_structured"),
        migrations.AlterField(
            model_name="judge",
            name="backend",
            field=models.CharField(
                choices=judging.backends.registry.choices, default="openai", max_length=20
            ),
        ),
        migrations.AlterField(
            model_name="judge",
            name="probabilities",
            field=models.CharField(
                choices=[
                    ("no", "not requested"),
                    ("beside", "next to the reply"),
                    ("only", "instead of a reply"),
                ],
                default="no",
                help_text="Whether to ask for the probability of each option.",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="judge",
            constraint=models.CheckConstraint(
                condition=models.Q(("probabilities__in", ["no", "beside", "only"])),
                name="judge_probabilities",
            ),
        ),
    ]
