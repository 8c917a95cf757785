"""A database of before a model moved to another extra, which has its table and its rows."""

from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder


def update_from_before(label: str, *names: str) -> None:
    """Migrate an extra whose tables are there, as an earlier version made them for others."""
    for name in names or ("0001_initial",):
        MigrationRecorder(connection).record_unapplied(label, name)
    call_command("migrate", label, verbosity=0)
