"""The tables of notes and tags belong to the extra `audit`, which keeps their rows."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("analysis", "0002_audit_belongs_to_an_extra")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("ItemTag"),
                migrations.DeleteModel("ItemNote"),
            ]
        )
    ]
