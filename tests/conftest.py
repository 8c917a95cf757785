"""What holds for every test."""

import gc
import os
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from django.conf import settings
from django.core.servers.basehttp import WSGIRequestHandler
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from analysis.report import section
from analysis.report.added_files import MORE
from studies.statements import clock
from tests.migrated import DATABASE_OF_TESTS, TEMPLATE, copy_migrated, migrated_postgres
from tests.sampling import (
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
)

__all__ = [
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
]

# `live_server` sends head and body apart, and the second would wait 40 ms for the client to
# acknowledge the first.
WSGIRequestHandler.disable_nagle_algorithm = True
# A test that may not use the database has moments too; tests of the clock itself ask the server.
clock.ask = lambda: datetime.now(UTC)
# A report goes on without a part that fails; a test has to see the fault.
section.RAISES = True
# Most of a process is the program, whose objects stay: looking at all of them at every few hundred
# new ones takes a tenth of the time of the tests.
gc.set_threshold(50_000, 20, 50)
# What extras draw next to a report takes two thirds of it: only tests with `added_files` have it.
ADDED_FILES = [files for files in MORE if files.comes_with_pages]
for _each in ADDED_FILES:
    _each.comes_with_pages = False


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """No packed files in names of tests: their bytes hold the time, which differs by process."""
    return argname if isinstance(val, bytes) and len(val) > 12 else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples in the code and its documentation alone: tests have none.

    Looking at each name of each file takes two seconds of every process.
    """
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


def pytest_collection_finish() -> None:
    """Leave what collecting made out of every later collection of garbage: it stays to the end."""
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs row locks where somebody runs a file by hand, on SQLite."""
    if item.get_closest_marker("postgres") and connection.vendor == "sqlite":
        pytest.skip("needs PostgreSQL: set DATABASE_URL, or make test")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """As many as there are cores, and not more than can collect at the same time."""
    return min(8, os.cpu_count() or 1)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> Iterator[None]:
    """Copy tables that are there already; without a template PostgreSQL gets one first."""
    database = settings.DATABASES["default"]["TEST"]
    if connection.vendor != "sqlite":
        database["NAME"] = os.environ.get(DATABASE_OF_TESTS)
        given = os.environ.get(TEMPLATE)
        with nullcontext(given) if given else migrated_postgres(os.environ["DATABASE_URL"]) as name:
            database["TEMPLATE"] = name
            yield
        return
    path = Path(database["NAME"])
    copy_migrated(path.parent, path.name)
    yield
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Whether the tables are there before the tests: on SQLite in the file that was copied."""
    return bool(connection.vendor == "sqlite")


@pytest.fixture(scope="module")
def module_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What fixtures of a module write stays until its end; what its tests write does not."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def added_files() -> Iterator[None]:
    """Reports of pages come with the files that extras add to them."""
    with pytest.MonkeyPatch.context() as patched:
        for each in ADDED_FILES:
            patched.setattr(each, "comes_with_pages", True)
        yield


@pytest.fixture
def read_here(monkeypatch):
    """Files from outside are read by this process, where tests change limits and count."""
    monkeypatch.setattr("studies.importers.files.child._is_child", True)
