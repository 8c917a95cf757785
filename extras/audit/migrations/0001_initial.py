"""The tables that the core had: nothing changes in the database but the extras of studies."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from studies.migrations import _extras


def _audited(apps):
    rows = (apps.get_model("audit", name).objects for name in ("Audit", "AcceptedFinding"))
    return [pk for row in rows for pk in row.values_list("study", flat=True)]


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("analysis", "0002_audit_belongs_to_an_extra"),
        ("studies", "0005_media_belongs_to_an_extra"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="AcceptedFinding",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True,
                                primary_key=True,
                                serialize=False,
                                verbose_name="ID",
                            ),
                        ),
                        ("check_name", models.CharField(max_length=60)),
                        ("reason", models.TextField()),
                        ("accepted_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "accepted_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "study",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="accepted_findings",
                                to="studies.study",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "analysis_acceptedfinding",
                        "ordering": ["accepted_at", "pk"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("study", "check_name"),
                                name="finding_accepted_once_per_study",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("reason", ""), _negated=True),
                                name="accepted_finding_has_reason",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Audit",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True,
                                primary_key=True,
                                serialize=False,
                                verbose_name="ID",
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
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
                        (
                            "progress",
                            models.PositiveSmallIntegerField(default=0, help_text="Percent."),
                        ),
                        (
                            "message",
                            models.TextField(
                                default="Waiting for a worker.",
                                help_text="What happens at the moment, what came out, or why it failed.",
                            ),
                        ),
                        (
                            "attempts",
                            models.PositiveSmallIntegerField(
                                default=0, help_text="Workers that started it."
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "heartbeat_at",
                            models.DateTimeField(
                                default=django.utils.timezone.now,
                                help_text="When its worker was last heard of, or it was queued.",
                            ),
                        ),
                        ("finished_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "expires_at",
                            models.DateTimeField(
                                blank=True,
                                help_text="When its files are deleted. Empty: never.",
                                null=True,
                            ),
                        ),
                        (
                            "fingerprint",
                            models.CharField(
                                blank=True, help_text="Of what was audited.", max_length=64
                            ),
                        ),
                        ("items", models.PositiveIntegerField(default=0)),
                        (
                            "findings",
                            models.JSONField(
                                default=list, help_text="One for each check, in their order."
                            ),
                        ),
                        (
                            "requested_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "study",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="audit",
                                to="studies.study",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "analysis_audit",
                        "ordering": ["-created_at", "-pk"],
                        "abstract": False,
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("state__in", ["queued", "running", "done", "failed", "gone"])
                                ),
                                name="audit_state",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("progress__range", (0, 100))),
                                name="audit_progress",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("state__in", ["failed", "gone"]), _negated=True),
                                    models.Q(("message", ""), _negated=True),
                                    _connector="OR",
                                ),
                                name="audit_end_says_why",
                            ),
                        ],
                    },
                ),
            ]
        ),
        _extras.turn_on("audit", _audited),
    ]
