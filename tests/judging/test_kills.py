"""Everything that a run needs is killed; benchmarks/judge_kills.py is the same at full size."""

import tempfile
from pathlib import Path

import pytest
from celery import Celery

from benchmarks.judge_kills import SLOTS, judge_and_kill


def hurry(victim, run, broker_url):
    """Instead of waiting until the dead worker's leases run out and the schedule looks."""
    if victim == "worker":
        run.query("UPDATE judging_judgment SET leased_until = '2020-01-01' WHERE state = 'leased'")
        Celery(broker=broker_url).send_task("judging.tasks.recover_runs")


@pytest.mark.e2e
@pytest.mark.postgres
@pytest.mark.nightly  # With --all. test_crash kills workers, test_whole_job the web server.
@pytest.mark.parametrize("times", [1, 2])
def test_worker_broker_and_database_that_are_killed_lose_nothing_and_ask_nothing_twice(times):
    # A short path: the database's socket lies in it, and paths of sockets are limited.
    with tempfile.TemporaryDirectory(prefix="tp-kills-", dir="/tmp") as folder:
        outcome = judge_and_kill(
            Path(folder), judgments=200 * times, kills=3 * times, seed=1, then=hurry
        )

    assert outcome.problems == []
    assert outcome.kills == {"worker": times, "broker": times, "database": times}
    assert 0 < outcome.asked_again <= sum(outcome.in_flight) <= 2 * SLOTS
