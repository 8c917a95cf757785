from django.db import migrations


def keep(apps, schema_editor):
    """What was typed and not sent goes to the draft that it belongs to."""
    draft_of = apps.get_model("annotation", "Draft").objects
    for row in apps.get_model("graded", "GradesDraft").objects.iterator():
        draft = draft_of.filter(assignment=row.assignment_id, version=row.version).first()
        if draft is not None:
            draft.added["graded"] = row.entered
            draft.save(update_fields=["added"])


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0002_draft_added"),
        ("graded", "0001_initial"),
    ]

    operations = [
        migrations.RunPython(keep, migrations.RunPython.noop),
        migrations.DeleteModel(name="GradesDraft"),
    ]
