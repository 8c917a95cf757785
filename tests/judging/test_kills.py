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
@pytest.mark.sampled(keep=0)  # with --all; test_crash kills workers in every run
@pytest.mark.postgres
def test_worker_broker_and_database_killed_twice_each_lose_nothing_and_ask_nothing_twice():
    # A short path: the database's socket lies in it, and paths of sockets are limited.
    with tempfile.TemporaryDirectory(prefix="tp-kills-", dir="/tmp") as folder:
        outcome = judge_and_kill(Path(folder), judgments=400, kills=6, seed=1, then=hurry)

    assert outcome.problems == []
    assert outcome.kills == {"worker": 2, "broker": 2, "database": 2}
    assert 0 < outcome.asked_again <= sum(outcome.in_flight) <= 2 * SLOTS
