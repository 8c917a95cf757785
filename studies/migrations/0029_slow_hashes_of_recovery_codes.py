from django.contrib.auth.hashers import make_password
from django.db import migrations


def wrap(apps, schema_editor):
    """Put a slow hash with a salt around the bare hashes of recovery codes."""
    for step in apps.get_model("studies", "SecondStep").objects.all():
        step.recovery_sha256 = [
            each if "$" in each else make_password(each) for each in step.recovery_sha256
        ]
        step.save(update_fields=["recovery_sha256"])


class Migration(migrations.Migration):
    dependencies = [("studies", "0028_set_display")]
    operations = [migrations.RunPython(wrap, migrations.RunPython.noop)]
