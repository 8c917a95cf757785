"""The brokers of the workers."""

from queue import Empty
from types import SimpleNamespace

import pytest
from kombu import Connection
from kombu.exceptions import OperationalError

from analysis.tasks import build_report
from config import broker
from config.broker import RedisChannel, RedisTransport
from config.celery import app


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_redis_uses_our_transport_and_encryption_if_configured(scheme):
    connection = app.connection_for_write(f"{scheme}://broker:6379/0")

    assert type(connection.transport) is RedisTransport
    assert bool(connection.ssl) == (scheme == "rediss")


def test_a_message_is_acknowledged_after_its_task_so_that_a_killed_worker_loses_none():
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost
    assert app.conf.worker_prefetch_multiplier == 1


@pytest.mark.parametrize("transport", [None, SimpleNamespace(client=None)])
def test_a_closed_connection_counts_as_lost(transport):
    channel = RedisChannel.__new__(RedisChannel)
    channel.connection = transport

    with pytest.raises(RedisTransport.connection_errors), channel.conn_or_acquire():
        pass


def test_a_message_in_a_folder_is_visible_once_complete(tmp_path, monkeypatch):
    folders = dict.fromkeys(("data_folder_in", "data_folder_out", "control_folder"), str(tmp_path))
    with Connection("filesystem://", transport_options=folders) as connection:
        # kombu remembers bindings by name for the whole process, whatever the folder.
        queue = connection.SimpleQueue(tmp_path.name)
        with monkeypatch.context() as patched:
            patched.setattr(broker.os, "replace", lambda part, message: None)
            queue.put({"half": "a message"})
        assert list(tmp_path.glob("*.part"))
        with pytest.raises(Empty):
            queue.get(block=False)

        queue.put({"run": 1})
        assert queue.get(timeout=60).payload == {"run": 1}


@pytest.mark.django_db
def test_a_broker_outage_does_not_prevent_storing(
    django_capture_on_commit_callbacks, monkeypatch, caplog
):
    def refuse(*arguments, **options):
        raise OperationalError("Connection refused")

    monkeypatch.setattr(build_report, "apply_async", refuse)

    with django_capture_on_commit_callbacks(execute=True):
        build_report.delay_on_commit(7)

    assert "build_report(7,) was not queued: Connection refused" in caplog.text
