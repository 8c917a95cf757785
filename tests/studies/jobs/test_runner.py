"""A worker's part of a job, with an import as the example."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from config import celery
from studies.jobs import runner
from studies.jobs.models import STALLED_AFTER, WAITING_AFTER
from studies.jobs.runner import JobProblem, JobStopped, Steps, carry_out
from studies.models import Heartbeat, ImportJob
from tests.factories import make_study

pytestmark = pytest.mark.django_db
EXPECTED = (OSError,)


@pytest.fixture
def job():
    return ImportJob.objects.create(study=make_study(), file_name="f", task="preference")


def run(job, work):
    return carry_out(ImportJob, job.pk, work, expected=EXPECTED)


def test_the_result_of_the_work_is_stored_and_the_job_is_done(job):
    done = run(job, lambda job, progress: {"report": {"items": 2}})

    assert (done.state, done.progress, done.message) == ("done", 100, "Done.")
    assert (done.report, done.attempts) == ({"items": 2}, 1)
    assert done.finished_at is not None


@pytest.mark.parametrize("state", ["running", "done", "failed", "gone"])
def test_a_job_that_is_not_queued_is_left_alone(job, state):
    ImportJob.objects.update(state=state)
    worked = []

    assert run(job, lambda job, progress: worked.append(job)).state == state
    assert worked == []


@pytest.mark.parametrize(
    ("error", "message", "faults"),
    [
        (OSError("The disk is full."), "The disk is full.", []),
        (JobProblem("Two faults.", faults=[1, 2]), "Two faults.", [1, 2]),
    ],
)
def test_an_expected_error_is_stored_as_its_sentence(job, error, message, faults):
    def work(job, progress):
        raise error

    failed = run(job, work)

    assert (failed.state, failed.message, failed.faults) == ("failed", message, faults)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("secret detail"), "there is an error in the program"),
        (OperationalError("secret"), "the database did not answer or refused a statement"),
        (OSError(28, "No space left on device"), "a connection failed: No space left on device"),
        (MemoryError(), "there was not enough memory"),
    ],
)
def test_an_unexpected_error_is_raised_and_stored_as_what_failed_in_words(job, error, words):
    def work(job, progress):
        raise error

    with pytest.raises(type(error)):
        carry_out(ImportJob, job.pk, work, expected=())

    job.refresh_from_db()
    assert job.state == "failed"
    assert f"{words}. Nothing was stored. " in job.message
    assert job.message.startswith("The file could not be imported: ")
    assert job.message.endswith(f"The worker's log has the details under “ImportJob {job.pk}”.")
    assert type(error).__name__ not in job.message
    assert "secret" not in job.message


def test_a_job_that_is_deleted_meanwhile_stops_at_its_next_step(job):
    def work(job, progress):
        ImportJob.objects.update(state="gone", message="Deleted.")
        progress(50, "Half.")
        raise AssertionError("it went on")

    assert (run(job, work).state, ImportJob.objects.get().message) == ("gone", "Deleted.")


def test_an_abandoned_worker_does_not_end_the_job_of_its_successor(job):
    def work(job, progress):
        ImportJob.objects.update(attempts=2)  # another worker has started it
        return {"report": {"items": 1}}

    after = run(job, work)

    assert (after.state, after.report) == ("running", {})


def test_steps_are_the_first_share_of_the_work(job, monkeypatch):
    monkeypatch.setattr(runner, "HEARTBEAT_SECONDS", 0)
    seen = []

    def work(job, progress):
        steps = Steps(progress, total=4, share=80, sentence=lambda done, total: f"{done}/{total}")
        for _ in range(4):
            steps.update()
            job.refresh_from_db()
            seen.append((job.progress, job.message))
        return {}

    run(job, work)

    assert seen == [(20, "1/4"), (40, "2/4"), (60, "3/4"), (80, "4/4")]


def test_a_job_is_stalled_without_a_heartbeat_and_when_nobody_starts_it(job):
    second = timedelta(seconds=30)
    for state, silence, is_stalled in (
        ("running", STALLED_AFTER - second, False),
        ("running", STALLED_AFTER + second, True),
        ("queued", STALLED_AFTER + second, False),
        ("queued", WAITING_AFTER + second, True),
        ("failed", WAITING_AFTER + second, False),
    ):
        job.state, job.heartbeat_at = state, timezone.now() - silence
        assert job.is_stalled == is_stalled, (state, silence)


def test_a_job_that_waits_for_busy_workers_is_not_stalled(job):
    job.heartbeat_at = timezone.now() - WAITING_AFTER - timedelta(seconds=1)
    for role in ("worker", "judge_worker"):
        Heartbeat.objects.create(role=role, process="a:1", version="1", seen_at=timezone.now())
    assert (job.is_stalled, job.sentence) == (False, "Waiting for a worker.")
    Heartbeat.objects.filter(role="worker").update(seen_at=job.heartbeat_at)
    assert job.is_stalled


@pytest.mark.django_db(transaction=True)
def test_the_heartbeat_survives_a_broken_connection(job, monkeypatch):
    monkeypatch.setattr(runner, "HEARTBEAT_SECONDS", 0.01)
    seen, stored = [], []

    def work(job, progress):
        own = progress._rows.update

        def broken(**fields):
            seen.append(fields["message"])
            if len(seen) == 2:
                connection.connection.close()  # as a database does that restarts
            return own(**fields)

        monkeypatch.setattr(progress._rows, "update", broken)
        while len(seen) < 2:
            time.sleep(0.01)
        progress(30, "Long.")
        while len(seen) < 6:
            time.sleep(0.01)
        job.refresh_from_db()
        stored.append(job.message)
        return {}

    run(job, work)
    assert stored == ["Long."]


@pytest.mark.django_db(transaction=True)
def test_the_heartbeat_continues_during_a_long_step(job, monkeypatch):
    monkeypatch.setattr(runner, "HEARTBEAT_SECONDS", 0.01)
    seen = []

    def work(job, progress):
        ImportJob.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1))
        progress(30, "Long.")
        for _ in range(1000):
            job.refresh_from_db()
            seen.append((job.is_stalled, job.message))
            if seen[-1] == (False, "Long."):
                break
            time.sleep(0.01)
        return {}

    assert run(job, work).state == "done"
    assert seen[-1] == (False, "Long.")


def test_inside_a_transaction_no_thread_is_started_that_would_wait_for_it(job):
    threads = [threading.active_count()]

    def work(job, progress):
        threads.append(threading.active_count())
        return {}

    run(job, work)

    assert threads[0] == threads[1]


def test_the_sentence_of_a_stalled_job_says_that_no_worker_has_it(job):
    assert job.sentence == "Waiting for a worker."
    job.heartbeat_at = timezone.now() - WAITING_AFTER - timedelta(seconds=1)
    assert job.sentence.startswith("No worker is processing this")


def test_stopping_is_not_a_failure(job):
    def work(job, progress):
        raise JobStopped

    assert run(job, work).state == "running"


def test_every_worker_restarts_stalled_jobs_within_a_minute(job, monkeypatch):
    queued: list[int] = []
    monkeypatch.setattr("studies.tasks.import_file.delay", queued.append)
    ImportJob.objects.update(
        state="running", heartbeat_at=timezone.now() - STALLED_AFTER - timedelta(seconds=1)
    )

    celery.restart_jobs()

    assert queued == [job.pk]
    assert ImportJob.objects.get().state == "queued"
    assert STALLED_AFTER + timedelta(seconds=celery.RESTART_SECONDS) < timedelta(minutes=1)
