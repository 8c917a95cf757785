"""The schedule of a worker over a week, with clocks that jump, and when its folder is full."""

import datetime as dt
import logging
from collections import Counter

import pytest

from api.tasks import tidy_requests
from config.celery import Schedule, app


@pytest.fixture
def schedule():
    return Schedule(app=app, lazy=False)


def test_a_failed_task_is_logged_in_one_sentence_and_queued_later(schedule, monkeypatch, caplog):
    entry = schedule.schedule["tidy-api-requests"]
    task = tidy_requests
    queued: list[str] = []

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(task, "apply_async", full)
    with caplog.at_level(logging.WARNING):
        schedule.apply_entry(entry)
    monkeypatch.setattr(task, "apply_async", lambda *_args, **_options: queued.append(task.name))
    schedule.apply_entry(entry)

    (record,) = [each for each in caplog.records if each.levelname == "WARNING"]
    assert record.getMessage().startswith("api.tasks.tidy_requests waits until it is due again.")
    assert "No space left on device" in record.getMessage()
    assert record.exc_info is None
    assert queued == ["api.tasks.tidy_requests"]


def test_the_schedule_keeps_no_file(schedule):
    assert app.conf.beat_scheduler == "config.celery:Schedule"
    assert max(entry.schedule.seconds for entry in schedule.schedule.values()) <= 3600


WEEK = 7 * 24 * 3600


class Clocks:
    """The clock of the machine, which jumps, and the time that really passes."""

    def __init__(self, jumps):
        self.passed, self.ahead, self.jumps = 0.0, 0.0, sorted(jumps.items())

    def wall(self, *_args):
        start = dt.datetime(2026, 3, 25, tzinfo=dt.UTC)  # over a change to summer time
        return start + dt.timedelta(seconds=self.passed + self.ahead)

    def pass_by(self, seconds):
        self.passed += seconds
        while self.jumps and self.jumps[0][0] <= self.passed:
            self.ahead += self.jumps.pop(0)[1]


@pytest.mark.nightly
def test_every_task_is_queued_as_often_as_it_is_due_in_a_week(monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "config.celery")
    jumps = {WEEK / 7: 3 * 86_400, WEEK / 3: -3 * 86_400, WEEK / 2: -3 * 86_400}
    clocks = Clocks(jumps)
    queued: Counter[str] = Counter()
    monkeypatch.setattr("config.celery.time.monotonic", lambda: clocks.passed)
    monkeypatch.setattr("config.celery.store_heartbeat", lambda _role: None)
    monkeypatch.setattr(app, "now", clocks.wall)
    # One task of each interval from a minute is enough.
    tasks = app.conf.beat_schedule.items()
    one_each = {each["schedule"]: name for name, each in tasks if each["schedule"] >= 60}
    for name in {*app.conf.beat_schedule} - {*one_each.values()}:
        monkeypatch.delitem(app.conf.beat_schedule, name)
    schedule = Schedule(app=app, lazy=False)
    monkeypatch.setattr(schedule, "apply_async", lambda entry, **_: queued.update([entry.name]))

    while clocks.passed < WEEK:
        clocks.pass_by(max(schedule.tick(), 0.001))

    due = {name: WEEK / entry.schedule.seconds for name, entry in schedule.schedule.items()}
    assert set(queued) == set(due)
    assert {
        name: queued[name] for name, n in due.items() if not 0.99 * n <= queued[name] <= n
    } == {}
