"""Bring the database up to date: `python -m config.migrate`."""

import os
import re
import sys
import time

import django
from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from config import private_files
from config.env import outside_extras

# Shorter than PostgreSQL's wait before it detects a deadlock and ends one of the two.
_LOCK_TIMEOUT = "500ms"
_PATIENCE_SECONDS = 600.0
_PAUSE_SECONDS = 1.0
_IN_USE = {"55P03", "40P01"}  # no lock in time, and a deadlock


def migrate() -> None:
    """Create the tables, or apply every missing migration; on SQLite everything or nothing.

    Django records a migration with deferred SQL after its commit, so a kill in between would leave
    tables that make the next attempt fail.
    """
    if connection.vendor != "sqlite":
        _migrate_in_use()
        return
    # Django's schema editor does this too, but inside a transaction it would be too late.
    connection.disable_constraint_checking()
    try:
        with transaction.atomic():
            _create_tables()
            call_command("migrate", verbosity=0)
            connection.check_constraints()
    finally:
        connection.enable_constraint_checking()


@transaction.atomic
def _create_tables() -> None:
    """In an empty database, create the tables as they are now, and record their migrations.

    Going through every earlier form of them takes ten times as long. Packages outside are left to
    their migrations, which may also store rows.
    """
    executor, packages = MigrationExecutor(connection), outside_extras()
    if executor.loader.applied_migrations:
        return
    own = {app.label for app in apps.get_app_configs() if app.name not in packages}
    leaves = [leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] in own]
    with connection.schema_editor() as editor:
        for model in executor.loader.project_state(leaves).apps.get_models():
            editor.create_model(model)
    executor.migrate(leaves, fake=True)


def _migrate_in_use() -> None:
    """Apply migrations while other processes serve requests, which never fail or wait long.

    A migration that does not get its locks immediately is rolled back and tried again, so that of a
    request and a migration waiting for each other, the request continues.
    """
    end = time.monotonic() + _PATIENCE_SECONDS
    try:
        while True:
            # A new one each time, because Django's final step is not undone if it fails.
            connection.close()
            connection.connect()
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = %s", [_LOCK_TIMEOUT])
            try:
                _create_tables()
                call_command("migrate", verbosity=0)
                return
            except OperationalError as error:
                code = getattr(error.__cause__, "pgcode", None)
                if code not in _IN_USE or time.monotonic() > end:
                    raise
            time.sleep(_PAUSE_SECONDS)
    finally:
        connection.close()  # with the setting


# What a database says that is full, read-only, locked, or was stopped while a command ran.
_ABOUT_THE_DISK = re.compile(r"disk|space left|could not extend|read-?only", re.IGNORECASE)
_ABOUT_THE_SERVER = re.compile(
    r"locked|connection|terminat|shutting down|starting up|recovery mode|closed", re.IGNORECASE
)


def what_is_wrong(error: Exception | None = None) -> str:
    """Why commands fail on this database, and the remedy; empty if it is up to date.

    `error` is what a command failed with.
    """
    from config.health import newer_database

    fault = str(error or "").strip().partition("\n")[0]
    if _ABOUT_THE_DISK.search(fault):
        return (
            f"The database cannot store anything: {fault}. Free space on its disk, and let this "
            "program write there."
        )
    try:
        executor = MigrationExecutor(connection)
    except DatabaseError as error:
        remedy = "Check DATABASE_URL."
        if "disk" in str(error).lower():
            remedy = "Free space on its disk, and let this program write there."
        return f"The database does not answer: {str(error).strip()}. {remedy}"
    if sentence := newer_database():
        return sentence
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return (
            "The database was never set up, or is older than this program. Run make setup (of an "
            "installed package, thirdperson setup), or python -m config.migrate with the same "
            "settings."
        )
    if _ABOUT_THE_SERVER.search(fault):
        return (
            f"The database stopped answering: {fault}. What was not finished was not stored. Run "
            "the command again."
        )
    return ""


def main() -> None:
    """Migrate the configured database, or end with a sentence about what is wrong."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    try:
        django.setup()
        from config.health import newer_database

        private_files.close_below(settings.VAR_DIR)
        if sentence := newer_database():
            sys.exit(sentence)
        migrate()
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    except DatabaseError as error:
        if sentence := what_is_wrong(error):
            sys.exit(sentence)
        raise


if __name__ == "__main__":
    main()
