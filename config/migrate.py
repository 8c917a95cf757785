"""Bring the database up to date: `python -m config.migrate`."""

import os

import django
from django.core.management import call_command
from django.db import connection, transaction


def migrate() -> None:
    """Apply every migration that is missing; on SQLite all of them or none.

    Django records a migration that has deferred SQL after its commit, so a kill between the two
    would leave tables that the next attempt trips over.
    """
    if connection.vendor != "sqlite":
        call_command("migrate", verbosity=0)
        return
    # What Django's schema editor does too, but inside a transaction it would be too late.
    connection.disable_constraint_checking()
    try:
        with transaction.atomic():
            call_command("migrate", verbosity=0)
            connection.check_constraints()
    finally:
        connection.enable_constraint_checking()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    django.setup()
    migrate()
