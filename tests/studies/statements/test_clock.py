"""Moments by the database's clock: a machine whose own clock is wrong ends nothing."""

import importlib.util
from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.utils import timezone

from analysis.models import Report
from analysis.tasks import tidy_report_jobs
from annotation.models import Recruitment
from annotation.prolific.api.claims import claimed
from judging.models import Judgment
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.worker.run_states import release_expired
from studies.jobs.models import Job
from studies.jobs.retry import is_due
from studies.statements import clock
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge

pytestmark = pytest.mark.django_db
MINUTES = timedelta(minutes=5)
DAYS = timedelta(days=15)


@pytest.fixture(params=[MINUTES, -MINUTES], ids=["ahead", "behind"])
def wrong_clock(request, monkeypatch):
    right = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: right() + request.param)


def a_report(**fields) -> Report:
    return Report.objects.create(
        study=make_study(), number=1, threshold=80, seed=1, bootstrap=200, **fields
    )


def leased(until) -> Judgment:
    study = make_study()
    make_item(study=study)
    judge = make_judge(base_url="http://127.0.0.1:9/v1")
    run = start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)
    run.judgments.update(state=Judgment.State.LEASED, lease="a", leased_until=until)
    return run.judgments.get()


@pytest.mark.usefixtures("wrong_clock")
def test_a_living_job_is_left_to_its_worker():
    report = a_report(state=Job.State.RUNNING, attempts=1, heartbeat_at=clock.now())

    tidy_report_jobs()

    report.refresh_from_db()
    assert (report.state, report.attempts, report.message) == (
        "running",
        1,
        "Waiting for a worker.",
    )


@pytest.mark.usefixtures("wrong_clock")
def test_a_valid_lease_is_not_released():
    judgment = leased(clock.now() + timedelta(seconds=30))

    assert release_expired() == {}
    judgment.refresh_from_db()
    assert judgment.state == Judgment.State.LEASED


@pytest.mark.postgres
def test_the_time_is_the_servers_and_is_extrapolated_briefly(monkeypatch):
    # As the program has it: tests elsewhere read the clock of their own machine.
    own = importlib.util.module_from_spec(clock.__spec__)
    clock.__spec__.loader.exec_module(own)
    right = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: right + MINUTES)

    assert abs(own.now() - right) < timedelta(seconds=5)
    assert "ahead of that of the database" in own.wrong_clock()

    def away() -> None:
        raise DatabaseError

    monkeypatch.setattr(own, "_READ_AGAIN_AFTER", -1.0)
    monkeypatch.setattr(own, "ask", away)
    assert abs(own.now() - right) < timedelta(seconds=10)


def test_times_stored_by_a_fast_clock_are_due():
    """Otherwise a clock that was wrong for a moment would stop the work until that date."""
    later = clock.now() + DAYS
    study = make_study()
    report = Report.objects.create(
        study=study, number=1, threshold=80, seed=1, bootstrap=200, heartbeat_at=later
    )
    judgment = leased(later)
    Recruitment.objects.create(study=study, busy_until=later)

    assert report.is_stalled
    assert is_due(report, after=DAYS)
    assert release_expired() == {judgment.run_id: 1}
    with claimed(study.pk) as recruitment:
        assert recruitment.busy_until < later


@pytest.mark.usefixtures("wrong_clock")
def test_new_times_use_the_clock_of_the_limits():
    report = a_report()

    began = (report.created_at, report.heartbeat_at)
    assert all(abs(moment - clock.now()) < timedelta(minutes=1) for moment in began)
