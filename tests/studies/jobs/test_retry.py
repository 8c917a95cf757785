"""A job that was left behind is queued again, and only then."""

from datetime import timedelta

import pytest
from django.utils import timezone

from studies import tasks
from studies.jobs.retry import MAX_ATTEMPTS, queue_again, same_job
from studies.models import ImportJob
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch):
    ids: list[int] = []
    monkeypatch.setattr(tasks.import_file, "delay_on_commit", ids.append)
    return ids


def make_job(**fields) -> ImportJob:
    return ImportJob.objects.create(study=make_study(), file_name="f", task="preference", **fields)


def long_ago():
    return timezone.now() - timedelta(hours=1)


def test_a_job_with_a_living_worker_is_not_sent_again(sent):
    job = make_job(state="running", attempts=1)

    assert same_job([job], tasks.import_file) == job
    assert sent == []


def test_a_stalled_job_is_the_same_job_and_is_sent_again(sent):
    job = make_job(state="running", attempts=1, heartbeat_at=long_ago())

    assert same_job([job], tasks.import_file) == job
    assert (sent, job.state, job.is_stalled) == ([job.pk], "queued", False)


def test_a_job_that_killed_too_many_workers_is_not_reused(sent):
    job = make_job(state="running", attempts=MAX_ATTEMPTS, heartbeat_at=long_ago())

    assert same_job([job], tasks.import_file) is None
    assert (sent, job.state) == ([], "failed")
    assert job.finished_at is not None


def test_a_heartbeat_that_arrives_meanwhile_keeps_the_job_with_its_worker():
    job = make_job(state="running", attempts=1, heartbeat_at=long_ago())
    ImportJob.objects.update(heartbeat_at=timezone.now())

    assert not queue_again(job)
    job.refresh_from_db()
    assert job.state == "running"


def test_of_two_processes_that_find_a_stalled_job_one_sends_it():
    first = make_job(state="queued", heartbeat_at=long_ago())
    second = ImportJob.objects.get()

    assert (queue_again(first), queue_again(second)) == (True, False)
