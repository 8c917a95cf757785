"""Any worker takes up what another left, without schedule and without any other worker."""

import os
import signal
import threading
from typing import Any

import pytest
from django.db import OperationalError

from judging import tasks
from judging.deliveries import RunDelivery
from judging.models import Judgment
from tests.judging.llm_server import completion
from tests.judging.processes import Site, wait_for


@pytest.fixture
def swept(monkeypatch):
    """What the watch did, and a way to wait for so many sweeps."""
    sweeps: list[Any] = []
    stepped: list[int] = []
    enough = threading.Event()

    class Following(RunDelivery):
        def follow(self):
            stepped.append(len(sweeps))

    def recover_runs(*, at_start):
        sweeps.append(at_start)
        if len(sweeps) == 2:
            raise OperationalError("the database restarts")
        if len(sweeps) >= 4:
            enough.set()

    monkeypatch.setattr(tasks, "recover_runs", recover_runs)
    monkeypatch.setattr(tasks, "expired_leases", Judgment.objects.none)
    monkeypatch.setattr(tasks.deliveries, "MORE", [Following()])
    monkeypatch.setattr(tasks, "SWEEP_SECONDS", 0.01)
    yield sweeps, stepped, enough
    tasks.end_recovery()


def test_a_worker_sweeps_at_its_start_and_again_and_again(swept):
    sweeps, stepped, enough = swept

    thread = tasks.begin_recovery()
    assert enough.wait(20)
    tasks.end_recovery()
    thread.join(20)

    assert not thread.is_alive()
    assert sweeps[:4] == [True, False, False, False]
    assert stepped[:1] == [1]


@pytest.mark.nightly  # With --all. test_crash kills workers.
@pytest.mark.e2e
@pytest.mark.sqlite  # what it does to the database is tested on PostgreSQL by the sweeper's tests
def test_a_worker_for_judging_alone_takes_up_what_a_killed_one_left(llm, tmp_path):
    def answer(body, number):
        reply = completion("[[A]]")
        reply.delay = 0.1
        return reply

    llm.answer = answer
    site = Site(tmp_path)
    site.prepare("alone", 400, llm.url, "--concurrency", "8")
    first = site.worker(queue="judging")
    second = None
    try:
        site.manage(["judge", "alone", "--judge", "j"])
        done = "SELECT count(*) FROM judging_judgment WHERE state = 'done'"
        wait_for("some answers", lambda: site.sql(done)[0][0] >= 8)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        assert site.sql(done)[0][0] < 400
        # Instead of waiting until the dead worker's leases run out.
        past = "leased_until = '2020-01-01 00:00:00'"
        site.sql(f"UPDATE judging_judgment SET {past} WHERE state = 'leased'")
        # Its tokens are gone with it, as from a broker that keeps nothing.
        for message in (tmp_path / "queue").rglob("*.msg"):
            message.unlink()

        second = site.worker(queue="judging", log="second.log")

        ended = "SELECT count(*) FROM judging_judgerun WHERE state = 'done'"
        wait_for("the end of the run", lambda: site.sql(ended)[0][0] == 1, seconds=120)
    finally:
        for worker in filter(None, (first, second)):
            if worker.poll() is None:
                worker.terminate()
                worker.wait(timeout=60)
