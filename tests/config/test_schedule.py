"""The schedule of a worker when its folder is full or cannot be written."""

import logging

import pytest

from api.tasks import send_webhooks
from config.celery import Schedule, app


@pytest.fixture
def schedule():
    return Schedule(app=app, lazy=False)


def test_a_task_that_cannot_be_queued_is_one_sentence_and_queued_when_there_is_room(
    schedule, monkeypatch, caplog
):
    entry = schedule.schedule["send-webhooks"]
    task = send_webhooks
    queued: list[str] = []

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(task, "apply_async", full)
    with caplog.at_level(logging.WARNING):
        schedule.apply_entry(entry)
    monkeypatch.setattr(task, "apply_async", lambda *_args, **_options: queued.append(task.name))
    schedule.apply_entry(entry)

    (record,) = [each for each in caplog.records if each.levelname == "WARNING"]
    assert record.getMessage().startswith("api.tasks.send_webhooks waits until it is due again.")
    assert "No space left on device" in record.getMessage()
    assert record.exc_info is None
    assert queued == ["api.tasks.send_webhooks"]


def test_the_schedule_keeps_no_file(schedule):
    assert app.conf.beat_scheduler == "config.celery:Schedule"
    assert max(entry.schedule.seconds for entry in schedule.schedule.values()) <= 3600
