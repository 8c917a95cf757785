from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("studies", "0008_states_of_imports")]

    operations = [
        migrations.AddConstraint(
            model_name="importjob",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["queued", "running", "done", "failed", "gone"])),
                name="importjob_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="importjob",
            constraint=models.CheckConstraint(
                condition=models.Q(("progress__range", (0, 100))), name="importjob_progress"
            ),
        ),
        migrations.AddConstraint(
            model_name="importjob",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ["failed", "gone"]), _negated=True),
                    models.Q(("message", ""), _negated=True),
                    _connector="OR",
                ),
                name="importjob_end_says_why",
            ),
        ),
    ]
