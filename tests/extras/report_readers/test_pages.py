"""Verification by a button on the page of a report."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from analysis import tasks
from analysis.lifecycle.requests import delete_report
from annotation.models import Annotation
from extras.report_readers.models import Recheck
from extras.report_readers.recomputed.rechecks import HELD
from extras.report_readers.tasks import recheck_report, tidy
from studies.held_copies import PersonIn
from tests.analysis.conftest import built_report, finished  # noqa: F401  fixtures
from tests.factories import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queued(monkeypatch):
    ids: list[int] = []
    monkeypatch.setattr(tasks.build_report, "delay_on_commit", lambda pk: None)
    monkeypatch.setattr(recheck_report, "delay_on_commit", lambda pk: None)
    monkeypatch.setattr(recheck_report, "delay", ids.append)
    return ids


def addresses(report):
    """The page of a report, the button that verifies it, and what the page polls."""
    args = [report.study.slug, report.public_id]
    press = reverse("verification:verify", args=args)
    return reverse("analysis:report", args=args), press, f"{press}?progress"


@pytest.mark.nightly
def test_a_report_is_verified_from_its_page(finished):  # noqa: F811
    study, report = finished
    client = sign_in(study, "editor")
    page, press, status = addresses(report)

    before = client.get(page).content.decode()
    client.post(press)
    client.post(press)  # a double press is one recheck
    waiting = client.get(status).json()
    recheck_report(Recheck.objects.get().pk)
    equal = client.get(page).content.decode()
    Annotation.objects.filter(assignment__annotator__study=study).update(standing="withdrawn")
    client.post(press)
    recheck_report(Recheck.objects.first().pk)
    after = client.get(page).content.decode()

    assert "This report has not been verified yet" in before
    assert (waiting["open"], waiting["message"]) == (True, "Waiting for a worker.")
    assert "All numbers match the current answers." in equal
    assert client.get(status).json()["open"] is False
    assert "<strong>▲ Superseded.</strong>" in after
    assert '<th scope="row" class="key">inputs.hash</th>' in after


def test_a_viewer_does_not_start_a_recheck(finished):  # noqa: F811
    study, report = finished
    client = sign_in(study, "viewer")
    page = client.get(addresses(report)[0])

    assert "Verify</button>" not in page.content.decode()
    assert client.post(addresses(report)[1]).status_code == 404


def test_a_recheck_whose_files_are_gone_says_so(finished, tmp_path):  # noqa: F811
    study, report = finished
    client = sign_in(study, "editor")
    (tmp_path / "reports" / report.public_id / "report.json").unlink()

    client.post(addresses(report)[1])
    recheck_report(Recheck.objects.get().pk)

    page = client.get(addresses(report)[0])
    assert "There is no report at" in page.content.decode()


def test_rechecks_of_a_killed_worker_start_again_and_those_of_deleted_reports_go(finished, queued):  # noqa: F811
    _, report = finished
    long_ago = timezone.now() - timedelta(hours=1)
    recheck = Recheck.objects.create(report=report, heartbeat_at=long_ago)

    tidy()
    assert queued == [recheck.pk]

    delete_report(report_id=report.pk, user=User.objects.create(username="ada"))
    tidy()
    assert not Recheck.objects.exists()


def test_a_recheck_that_names_somebody_is_deleted_with_their_data(finished):  # noqa: F811
    study, report = finished
    done = {"state": "done", "finished_at": timezone.now(), "report": report}
    Recheck.objects.create(**done, found={"reasons": ["P-1 withdrew 2 answers."]})
    other = Recheck.objects.create(**done, found={"reasons": []})

    HELD.forget(PersonIn(study, "P-1", timezone.now(), None))

    assert Recheck.objects.get() == other
