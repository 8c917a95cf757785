"""A database is migrated whole or not at all, and commands say where it is not."""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.apps import apps
from django.db import OperationalError, connection

from config import env
from config.migrate import what_is_wrong
from tests.management import python
from tests.migrated import copy_migrated, own_database

# Whatever the order of their columns.
SHAPE = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL",
    "postgresql": """
        SELECT table_name::text, column_name::text, concat_ws(' ', data_type,
            character_maximum_length, is_nullable, column_default, is_identity)
            FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid)
            FROM pg_constraint WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT tablename::text, indexname::text, indexdef FROM pg_indexes
            WHERE schemaname = 'public'
        UNION ALL SELECT tgrelid::regclass::text, tgname::text, pg_get_triggerdef(oid)
            FROM pg_trigger WHERE NOT tgisinternal""",
}
KEPT = {
    "django_migrations": "app, name",
    "django_content_type": "app_label, model",
    "auth_permission": "codename, name",
}
# Ends the process, as a kill would, when the fifth migration is about to be recorded.
KILLED = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.dev"
django.setup()
from config.migrate import migrate
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


def content(url: str) -> dict[str, list]:
    """The shape of all tables, how many rows they have, and the rows that Django keeps."""
    database = connection.copy()
    database.settings_dict |= env.database(url)
    with database.cursor() as cursor:

        def ask(query: str) -> list[tuple]:
            cursor.execute(query)
            return sorted(cursor.fetchall())

        shape = ask(SHAPE[database.vendor])
        if database.vendor == "sqlite":
            # Column for column: what begins and ends the statement is apart.
            shape = [
                (name, sorted(re.split(r", |(?<=\") \(|\)$", statement)))
                for name, statement in shape
            ]
        tables = sorted(database.introspection.table_names(cursor))
        rows = [(table, *ask(f"SELECT count(*) FROM {table}")) for table in tables]
        kept = [ask(f"SELECT {columns} FROM {table}") for table, columns in KEPT.items()]
    database.close()
    return {"shape": shape, "rows": rows, "kept": kept}


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[list[str]]:
    """The URLs of two empty databases, on the server that the tests use."""
    if connection.vendor == "sqlite":
        yield [f"sqlite:///{tmp_path / name}" for name in ("created", "migrated")]
        return
    url = os.environ["DATABASE_URL"]
    with own_database(url) as created, own_database(url) as migrated:
        yield [created, migrated]


# What PostgreSQL shows here is nearly always wrong on SQLite too, and takes ten seconds on each.
@pytest.mark.parametrize(
    "_server",
    [
        pytest.param("PostgreSQL", marks=pytest.mark.postgres),
        pytest.param("SQLite", marks=[pytest.mark.sqlite, pytest.mark.nightly]),
    ],
)
@pytest.mark.django_db
def test_a_new_database_is_as_if_every_version_had_migrated_it(empty, tmp_path, _server):
    ways = (("-m", "config.migrate"), ("manage.py", "migrate"))
    for url, way in zip(empty, ways, strict=True):
        ended = python(tmp_path, *way, DATABASE_URL=url, SECRET_KEY="s" * 50)
        assert ended.returncode == 0, ended.stderr

    created, migrated = map(content, empty)
    assert len(created["rows"]) >= len(apps.get_models())
    for kind, found in created.items():
        assert found == migrated[kind], kind


@pytest.mark.sqlite
def test_a_kill_in_mid_migration_leaves_nothing_and_the_next_attempt_completes(tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    copy_migrated(whole)
    tables = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    applied = "SELECT app, name FROM django_migrations"

    killed = python(tmp_path, "-c", KILLED).returncode
    left_behind = rows(tmp_path, tables)
    again = python(tmp_path, "-m", "config.migrate").returncode

    assert killed == 9
    assert left_behind == set()
    assert again == 0
    assert rows(tmp_path, tables) == rows(whole, tables)
    assert rows(tmp_path, applied) == rows(whole, applied)


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
