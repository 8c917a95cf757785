"""The table that the core had: nothing changes in the database but the extras of studies."""

import django.db.models.deletion
from django.db import migrations, models

import studies.models.keys
from studies.migrations import _extras


def _with_files(apps):
    return apps.get_model("media", "MediaFile").objects.values_list("study", flat=True).distinct()


class Migration(migrations.Migration):
    initial = True

    dependencies = [("studies", "0005_media_belongs_to_an_extra")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="MediaFile",
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
                            "public_id",
                            models.CharField(
                                default=studies.models.keys.public_id,
                                editable=False,
                                max_length=22,
                                unique=True,
                            ),
                        ),
                        ("sha256", models.CharField(editable=False, max_length=64)),
                        (
                            "type",
                            models.CharField(
                                help_text="Its media type, found in its content.", max_length=30
                            ),
                        ),
                        ("size", models.PositiveIntegerField(help_text="Bytes.")),
                        (
                            "width",
                            models.PositiveIntegerField(
                                help_text="Pixels; of a picture.", null=True
                            ),
                        ),
                        ("height", models.PositiveIntegerField(null=True)),
                        ("seconds", models.FloatField(help_text="Of a sound.", null=True)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "study",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="media",
                                to="studies.study",
                            ),
                        ),
                    ],
                    options={
                        "verbose_name": "picture or sound",
                        "verbose_name_plural": "pictures and sounds",
                        "db_table": "studies_mediafile",
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("study", "sha256"), name="media_once_per_study"
                            )
                        ],
                    },
                ),
            ]
        ),
        _extras.turn_on("media", _with_files),
    ]
