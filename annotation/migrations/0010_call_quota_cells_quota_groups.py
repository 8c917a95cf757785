"""Rename in Django only: the table and the column keep their names."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0009_note_earlier_reservations"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="annotator", name="annotator_quota_has_cell"),
        migrations.AlterModelTable(name="quotacell", table="annotation_quotacell"),
        migrations.RenameModel(old_name="QuotaCell", new_name="QuotaGroup"),
        migrations.AlterField(
            model_name="quotagroup",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="quota_groups",
                to="studies.study",
            ),
        ),
        migrations.AlterField(
            model_name="annotator",
            name="quota_cell",
            field=models.ForeignKey(
                blank=True,
                db_column="quota_cell_id",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="annotators",
                to="annotation.quotagroup",
            ),
        ),
        migrations.RenameField(
            model_name="annotator", old_name="quota_cell", new_name="quota_group"
        ),
        migrations.AddConstraint(
            model_name="annotator",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("quota", ""),
                    models.Q(
                        ("quota__in", ["reserved", "completed"]), ("quota_group__isnull", False)
                    ),
                    _connector="OR",
                ),
                name="annotator_quota_has_group",
            ),
        ),
    ]
