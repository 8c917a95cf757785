"""A database is migrated whole or not at all, and commands say where it is not."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.apps import apps
from django.db import OperationalError

from config.migrate import what_is_wrong
from tests.management import python
from tests.migrated import copy_migrated

EXTRAS = [app.label for app in apps.get_app_configs() if app.name.startswith("extras.")]
OWN = ("studies", "annotation", "judging", "analysis", "api", *EXTRAS)
OWN_TABLES = {
    model._meta.db_table
    for app in OWN
    for model in apps.get_app_config(app).get_models(include_auto_created=True)
}
# The migrations of Django's own apps: the others take seconds.
MIGRATE = f"""
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.dev"
django.setup()
from django.conf import settings
settings.MIGRATION_MODULES = dict.fromkeys({OWN})
from config.migrate import migrate
"""
# Ends the process, as a kill would, when the fifth migration is about to be recorded.
KILLED = f"""
{MIGRATE}
from django.db.migrations.recorder import MigrationRecorder
record, calls = MigrationRecorder.record_applied, []
def die(self, app, name):
    calls.append(name)
    if len(calls) == 5:
        os._exit(9)
    return record(self, app, name)
MigrationRecorder.record_applied = die
migrate()
"""


def rows(folder: Path, query: str) -> set[tuple]:
    with closing(sqlite3.connect(folder / "thirdperson.sqlite3")) as database:
        return set(database.execute(query))


@pytest.mark.sqlite
@pytest.mark.nightly  # With --all: two whole migrations.
def test_a_kill_in_mid_migration_leaves_nothing_and_the_next_attempt_completes(tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    copy_migrated(whole)
    tables = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    applied = "SELECT app, name FROM django_migrations"

    killed = python(tmp_path, "-c", KILLED).returncode
    left_behind = rows(tmp_path, tables)
    again = python(tmp_path, "-c", f"{MIGRATE}\nmigrate()").returncode

    assert killed == 9
    assert left_behind == set()
    assert again == 0
    assert rows(tmp_path, tables) == {
        row for row in rows(whole, tables) if row[0] not in OWN_TABLES
    }
    assert rows(tmp_path, applied) == {row for row in rows(whole, applied) if row[0] not in OWN}


@pytest.mark.sqlite
def test_at_the_end_the_database_is_one_file(tmp_path):
    copy_migrated(tmp_path)

    made = python(tmp_path, "-m", "config.migrate")

    assert made.returncode == 0, made.stderr
    assert [path.name for path in tmp_path.glob("*.sqlite3*")] == ["thirdperson.sqlite3"]


@pytest.mark.sqlite
@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("command", ["judge x --judge y", "create_study x"])
def test_a_command_on_an_empty_database_says_how_to_set_it_up(tmp_path, command):
    failed = python(tmp_path, "manage.py", *command.split())

    assert failed.returncode == 1
    assert failed.stderr == (
        "The database was never set up, or is older than this program. Run make setup (of an "
        "installed package, thirdperson setup), or python -m config.migrate with the same "
        "settings.\n"
    )


@pytest.mark.sqlite
def test_a_file_that_is_no_database_is_named(tmp_path):
    file = tmp_path / "other.sqlite3"
    file.write_text("This is no database. " * 100)

    failed = python(
        tmp_path,
        "manage.py",
        "study_state",
        "x",
        "open",
        DATABASE_URL=f"sqlite:///{file}",
        SECRET_KEY="s" * 50,
    )

    assert failed.returncode == 1
    assert failed.stderr.startswith("The database does not answer: file is not a database.")


@pytest.mark.nightly
@pytest.mark.sqlite
def test_a_command_whose_database_is_away_says_so(tmp_path):
    server = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none", "SECRET_KEY": "s" * 50}
    failed = python(tmp_path, "manage.py", "judge", "x", "--judge", "y", **server)

    assert failed.returncode == 1
    assert failed.stderr.startswith("The database does not answer: ")
    assert "Connection refused" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.sqlite
@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    "arguments", [["manage.py", "study_state", "x", "open"], ["-m", "config.migrate"]]
)
def test_an_unreadable_setting_is_reported_without_a_traceback(tmp_path, arguments):
    failed = python(tmp_path, *arguments, DEBUG="maybe")

    assert failed.returncode == 1
    assert failed.stderr == "DEBUG must be 1 or 0, not “maybe”.\n"


@pytest.mark.sqlite
@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    "arguments",
    [
        ["-m", "celery", "-A", "config", "worker", "-Q", "judging"],
        ["-m", "config.processes", "worker"],
        ["-m", "config.processes", "web"],
        ["manage.py", "judge", "x", "--judge", "y"],
    ],
)
def test_a_missing_secret_key_is_reported_without_a_traceback(tmp_path, arguments):
    server = "postgresql://nobody@127.0.0.1:9/none"

    failed = python(tmp_path, *arguments, DATABASE_URL=server, SECRET_KEY="")

    assert failed.returncode in {1, 2}
    assert failed.stderr.startswith(
        "SECRET_KEY is not set. All machines of an installation need the same one: copy it from "
        "the first machine."
    )
    assert failed.stderr.count("\n") == 1


@pytest.mark.django_db
def test_nothing_is_wrong_with_a_database_that_is_up_to_date():
    assert what_is_wrong() == ""


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "database or disk is full",
            "The database cannot store anything: database or disk is full.",
        ),
        ("attempt to write a readonly database", "The database cannot store anything: attempt"),
        (
            "could not extend file: No space left on device\nHINT: Check.",
            "No space left on device.",
        ),
        ("database is locked", "The database stopped answering: database is locked."),
        ("server closed the connection unexpectedly\n\tThis probably", "the command again."),
        ("connection already closed", "the command again."),
        ("no such function: f", ""),
    ],
)
def test_a_command_that_the_database_failed_ends_with_what_to_do(said, sentence):
    found = what_is_wrong(OperationalError(said))

    assert sentence in found
    assert bool(found) == bool(sentence)
    assert "\n" not in found
