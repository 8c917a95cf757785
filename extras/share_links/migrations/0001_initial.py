import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import studies.models.keys


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("analysis", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ShareLink",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "public_id",
                    models.CharField(
                        default=studies.models.keys.public_id,
                        editable=False,
                        max_length=22,
                        unique=True,
                    ),
                ),
                ("key_hash", models.CharField(editable=False, max_length=64)),
                ("note", models.CharField(blank=True, help_text="Who gets it.", max_length=120)),
                (
                    "is_blind",
                    models.BooleanField(
                        default=False,
                        help_text="For blind review: shows no names until an owner reveals them.",
                    ),
                ),
                ("revealed_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "opened",
                    models.PositiveIntegerField(default=0, help_text="How often it was opened."),
                ),
                ("last_opened_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "report",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="share_links",
                        to="analysis.report",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("key_hash", ""), _negated=True),
                        name="share_link_has_key",
                    )
                ],
            },
        ),
    ]
