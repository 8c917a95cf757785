"""Processes of the last version go on writing while an installation is upgraded."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection, transaction

from config import migrate


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_migration_gives_way_to_a_request_that_waits_for_it(monkeypatch):
    """The request has the annotators and wants the studies, the migration the other way round."""
    monkeypatch.setattr(migrate, "_PAUSE_SECONDS", 0.05)
    request_has, migration_has = threading.Event(), threading.Event()
    tries = []

    def alter(*_, **__):
        tries.append("began")
        with connection.schema_editor() as editor:
            editor.execute("LOCK TABLE studies_study IN ACCESS EXCLUSIVE MODE")
            migration_has.set()
            assert request_has.wait(20)
            # At its end, where foreign keys are made.
            editor.deferred_sql.append("LOCK TABLE annotation_annotator IN ACCESS EXCLUSIVE MODE")
        tries.append("done")

    def request():
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("LOCK TABLE annotation_annotator IN ROW EXCLUSIVE MODE")
                request_has.set()
                assert migration_has.wait(20)
                cursor.execute("SELECT 1 FROM studies_study")
            return "answered"
        finally:
            connection.close()

    monkeypatch.setattr(migrate, "call_command", alter)
    with ThreadPoolExecutor(1) as pool:
        answered = pool.submit(request)
        migrate.migrate()

    assert answered.result() == "answered"
    assert tries[0] == "began"
    assert tries[-1] == "done"
    assert len(tries) >= 3


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_other_errors_of_a_migration_are_raised_at_once(monkeypatch):
    def fail(*_, **__):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(migrate, "call_command", fail)

    with pytest.raises(OperationalError):
        migrate.migrate()
