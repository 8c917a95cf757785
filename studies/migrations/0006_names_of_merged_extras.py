"""Studies have extras that were merged under the names that they have now."""

from django.db import migrations

_NOW = {"labelling": "data_files"}
# Every study has it.
_OF_INSTALLATION = {"amended_consents"}


def rename(apps, schema_editor):
    for study in apps.get_model("studies", "Study").objects.exclude(extras=[]).iterator():
        names = sorted({_NOW.get(name, name) for name in study.extras} - _OF_INSTALLATION)
        if names != study.extras:
            study.extras = names
            study.save(update_fields=["extras"])


class Migration(migrations.Migration):
    dependencies = [("studies", "0005_media_belongs_to_an_extra")]

    operations = [migrations.RunPython(rename, migrations.RunPython.noop, elidable=True)]
