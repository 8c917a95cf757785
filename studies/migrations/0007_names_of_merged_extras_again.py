"""Studies have extras that were merged under the names that they have now."""

from django.db import migrations

_NOW = {"data_files": "documents", "labelling": "documents", "wordings": "judges_compared"}


def rename(apps, schema_editor):
    for study in apps.get_model("studies", "Study").objects.exclude(extras=[]).iterator():
        names = sorted({_NOW.get(name, name) for name in study.extras})
        if names != study.extras:
            study.extras = names
            study.save(update_fields=["extras"])


class Migration(migrations.Migration):
    dependencies = [("studies", "0006_names_of_merged_extras")]

    operations = [migrations.RunPython(rename, migrations.RunPython.noop, elidable=True)]
