"""Tables that the core had: nothing changes in the database but the extras of studies."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from studies.migrations import _extras


def _with_notes(apps):
    return apps.get_model("audit", "ItemNote").objects.values_list("study", flat=True).distinct()


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0003_notes_belong_to_an_extra"),
        ("audit", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="ItemNote",
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
                        ("text", models.TextField(blank=True)),
                        ("version", models.PositiveIntegerField(default=1)),
                        ("changed_at", models.DateTimeField()),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "changed_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "item",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="note",
                                to="studies.item",
                            ),
                        ),
                        (
                            "study",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="item_notes",
                                to="studies.study",
                            ),
                        ),
                    ],
                    options={
                        "verbose_name_plural": "notes",
                        "db_table": "analysis_itemnote",
                        "ordering": ["pk"],
                    },
                ),
                migrations.CreateModel(
                    name="ItemTag",
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
                        ("name", models.CharField(max_length=40)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "note",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="tags",
                                to="audit.itemnote",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "analysis_itemtag",
                        "ordering": ["name"],
                        "constraints": [
                            models.UniqueConstraint(fields=("note", "name"), name="item_tag_once"),
                            models.CheckConstraint(
                                condition=models.Q(("name", ""), _negated=True),
                                name="item_tag_has_name",
                            ),
                        ],
                    },
                ),
            ]
        ),
        _extras.turn_on("audit", _with_notes),
    ]
