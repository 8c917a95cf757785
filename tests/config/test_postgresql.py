"""Kept connections to PostgreSQL: no query is spent on a live one, a dead one is replaced."""

import pytest
from django.db import OperationalError, connection

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def asked(monkeypatch):
    """How often Django asked the server whether the connection is alive."""
    asked: list[int] = []
    ask = connection.is_usable

    def is_usable():
        asked.append(1)
        return ask()

    monkeypatch.setattr(connection, "is_usable", is_usable)
    monkeypatch.setitem(connection.settings_dict, "CONN_HEALTH_CHECKS", True)
    return asked


def begin_request():
    """What Django does with a kept connection at the start of each request."""
    connection.close_at = None
    connection.health_check_enabled = True
    connection.close_if_unusable_or_obsolete()


def backend():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def test_a_live_connection_is_kept_without_a_query(asked):
    before = backend()

    begin_request()

    assert backend() == before
    assert asked == []


def end_from_elsewhere(pid):
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    finally:
        other.close()


def test_a_connection_that_the_server_ended_is_replaced(asked):
    before = backend()
    end_from_elsewhere(before)

    begin_request()

    assert backend() != before
    assert asked


def test_a_connection_that_ends_within_a_request_is_an_error_as_always(asked):
    begin_request()
    end_from_elsewhere(backend())

    with pytest.raises(OperationalError):
        backend()
    connection.close()  # as Django does at the end of a request with such an error
