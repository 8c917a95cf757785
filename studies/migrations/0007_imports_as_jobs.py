"""An import gets the columns of every other job."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("studies", "0006_sign_ins")]

    operations = [
        migrations.RemoveConstraint("importjob", "import_job_state"),
        migrations.RemoveConstraint("importjob", "import_job_says_what_came_out"),
        migrations.RenameField("importjob", "user", "requested_by"),
        migrations.RenameField("importjob", "moved_at", "heartbeat_at"),
        migrations.AddField(
            model_name="importjob",
            name="attempts",
            field=models.PositiveSmallIntegerField(default=0, help_text="Workers that started it."),
        ),
        migrations.AddField(
            model_name="importjob",
            name="expires_at",
            field=models.DateTimeField(
                blank=True, help_text="When its files are deleted. Empty: never.", null=True
            ),
        ),
        migrations.AddField(
            model_name="importjob",
            name="finished_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="importjob",
            name="heartbeat_at",
            field=models.DateTimeField(
                default=django.utils.timezone.now,
                help_text="When its worker was last heard of, or it was queued.",
            ),
        ),
        migrations.AlterField(
            model_name="importjob",
            name="message",
            field=models.TextField(
                default="Waiting for a worker.",
                help_text="What happens at the moment, what came out, or why it failed.",
            ),
        ),
        migrations.AlterField(
            model_name="importjob",
            name="progress",
            field=models.PositiveSmallIntegerField(default=0, help_text="Percent."),
        ),
        migrations.AlterField(
            model_name="importjob",
            name="state",
            field=models.CharField(
                choices=[
                    ("queued", "waiting for a worker"),
                    ("running", "running"),
                    ("done", "done"),
                    ("failed", "failed"),
                    ("gone", "file deleted"),
                ],
                default="queued",
                max_length=10,
            ),
        ),
    ]
