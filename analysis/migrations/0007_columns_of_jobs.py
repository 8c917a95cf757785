"""Reports, rechecks and exports get the same columns as every other job."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0006_recheck_reports")]

    operations = [
        *(
            migrations.RenameField(model, "moved_at", "heartbeat_at")
            for model in ("report", "recheck", "export")
        ),
        migrations.RemoveConstraint(
            model_name="recheck",
            name="recheck_state",
        ),
        migrations.RemoveConstraint(
            model_name="recheck",
            name="recheck_failed_says_why",
        ),
        migrations.RemoveConstraint(
            model_name="report",
            name="report_state",
        ),
        migrations.RemoveConstraint(
            model_name="report",
            name="report_failed_says_why",
        ),
        migrations.AddField(
            model_name="recheck",
            name="attempts",
            field=models.PositiveSmallIntegerField(default=0, help_text="Workers that started it."),
        ),
        migrations.AddField(
            model_name="recheck",
            name="expires_at",
            field=models.DateTimeField(
                blank=True, help_text="When its files are deleted. Empty: never.", null=True
            ),
        ),
        migrations.AddField(
            model_name="report",
            name="attempts",
            field=models.PositiveSmallIntegerField(default=0, help_text="Workers that started it."),
        ),
        migrations.AddField(
            model_name="report",
            name="expires_at",
            field=models.DateTimeField(
                blank=True, help_text="When its files are deleted. Empty: never.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="export",
            name="attempts",
            field=models.PositiveSmallIntegerField(default=0, help_text="Workers that started it."),
        ),
        migrations.AlterField(
            model_name="export",
            name="expires_at",
            field=models.DateTimeField(
                blank=True, help_text="When its files are deleted. Empty: never.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="export",
            name="heartbeat_at",
            field=models.DateTimeField(
                default=django.utils.timezone.now,
                help_text="When its worker was last heard of, or it was queued.",
            ),
        ),
        migrations.AlterField(
            model_name="export",
            name="message",
            field=models.TextField(
                default="Waiting for a worker.",
                help_text="What happens at the moment, what came out, or why it failed.",
            ),
        ),
        migrations.AlterField(
            model_name="export",
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
        migrations.AlterField(
            model_name="recheck",
            name="finished_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="recheck",
            name="heartbeat_at",
            field=models.DateTimeField(
                default=django.utils.timezone.now,
                help_text="When its worker was last heard of, or it was queued.",
            ),
        ),
        migrations.AlterField(
            model_name="recheck",
            name="message",
            field=models.TextField(
                default="Waiting for a worker.",
                help_text="What happens at the moment, what came out, or why it failed.",
            ),
        ),
        migrations.AlterField(
            model_name="recheck",
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
        migrations.AlterField(
            model_name="report",
            name="finished_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="report",
            name="heartbeat_at",
            field=models.DateTimeField(
                default=django.utils.timezone.now,
                help_text="When its worker was last heard of, or it was queued.",
            ),
        ),
        migrations.AlterField(
            model_name="report",
            name="message",
            field=models.TextField(
                default="Waiting for a worker.",
                help_text="What happens at the moment, what came out, or why it failed.",
            ),
        ),
        migrations.AlterField(
            model_name="report",
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
        migrations.AddConstraint(
            model_name="recheck",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["queued", "running", "done", "failed", "gone"])),
                name="recheck_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="recheck",
            constraint=models.CheckConstraint(
                condition=models.Q(("progress__range", (0, 100))), name="recheck_progress"
            ),
        ),
        migrations.AddConstraint(
            model_name="recheck",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ["failed", "gone"]), _negated=True),
                    models.Q(("message", ""), _negated=True),
                    _connector="OR",
                ),
                name="recheck_end_says_why",
            ),
        ),
        migrations.AddConstraint(
            model_name="report",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["queued", "running", "done", "failed", "gone"])),
                name="report_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="report",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ["failed", "gone"]), _negated=True),
                    models.Q(("message", ""), _negated=True),
                    _connector="OR",
                ),
                name="report_end_says_why",
            ),
        ),
    ]
