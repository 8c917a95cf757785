"""The tables of the audit belong to the extra `audit`, which keeps their rows."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("analysis", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("AcceptedFinding"),
                migrations.DeleteModel("Audit"),
            ]
        )
    ]
