"""What cannot be queued waits: it is stored, and no page fails."""

import pytest
from kombu.exceptions import ContentDisallowed, OperationalError
from redis.exceptions import ResponseError

from analysis import tasks
from analysis.lifecycle.requests import request_report
from studies.jobs.models import WAITING, Job
from tests.factories import make_study

FAILURES = [
    OperationalError("Connection refused"),
    ContentDisallowed("refused"),
    OSError(28, "No space left on device"),
    ResponseError("OOM command not allowed when used memory > 'maxmemory'."),
]


@pytest.mark.django_db
@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_report_that_cannot_be_queued_is_stored_and_waits(
    failure, monkeypatch, django_capture_on_commit_callbacks
):
    def refuse(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(tasks.build_report, "apply_async", refuse)

    with django_capture_on_commit_callbacks(execute=True):
        report = request_report(study_id=make_study().pk)
    report.refresh_from_db()
    assert (report.state, report.message) == (Job.State.QUEUED, WAITING)

    type(report).objects.update(heartbeat_at="2020-01-01T00:00:00Z")
    tasks.tidy_report_jobs()
    report.refresh_from_db()
    assert report.state == Job.State.QUEUED
