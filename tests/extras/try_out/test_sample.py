"""The sample: made by one press, reported on by a worker, removed by another press."""

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse

from analysis.lifecycle.build_job import build_queued
from analysis.models import Report
from analysis.report.verdict.answer import YES, answer_of
from annotation.models import Annotation, Annotator
from judging.models import Judge
from studies.models import Study

pytestmark = pytest.mark.django_db
OFFER, REMOVE = "Try it with 60 sample items", "Remove the sample"


@pytest.fixture
def ada(client):
    ada = User.objects.create_user("ada", password="a long and unusual password")
    ada.user_permissions.add(Permission.objects.get(codename="add_study"))
    client.force_login(ada)
    return ada


def _list(client) -> str:
    return client.get(reverse("studies:list")).content.decode()


def test_one_press_makes_a_study_whose_report_decides_and_one_press_removes_it(client, ada):
    assert OFFER in _list(client)

    there = client.post(reverse("sample:sample")).url
    again = client.post(reverse("sample:sample")).url

    report = Report.objects.get()
    assert there == again == reverse("analysis:report", args=[report.study.slug, report.public_id])
    assert report.state == Report.State.QUEUED
    assert report.study.is_simulated
    found = build_queued(report_id=report.pk).result
    answer = answer_of(found)
    assert answer.word == YES
    assert "careful was right more often than the majority of people" in answer.sentence
    accuracy = {judge["judge"].split(": ")[1]: judge["accuracy"] for judge in found["judges"]}
    assert accuracy["careful"] > 0.9 > 0.8 > accuracy["average"] > 0.6 > accuracy["guessing"]
    assert (found["inputs"]["items"], found["inputs"]["annotations"]) == (60, 180)
    assert found["human"]["annotators"] == 20
    per_person = {a.assignments.count() for a in Annotator.objects.all()}
    assert per_person == {9}
    page = _list(client)
    assert OFFER not in page
    assert "simulated" in page
    assert "0 / 180" not in page
    assert "180 imported" in page

    client.post(reverse("sample:sample"), {"action": "remove"})

    assert not Study.objects.exists()
    assert not Judge.objects.exists()
    assert not Annotation.objects.exists()
    assert OFFER in _list(client)
    # A second press of the button in another tab finds nothing to remove.
    assert client.post(reverse("sample:sample"), {"action": "remove"}).status_code == 302


@pytest.mark.nightly
def test_a_sample_with_people_in_it_is_not_removed_by_one_press(client, ada):
    client.post(reverse("sample:sample"))
    study = Study.objects.get()
    Report.objects.all().delete()
    Annotator.objects.create(study=study, pseudonym="real")

    page = client.post(reverse("sample:sample"), {"action": "remove"}, follow=True).content.decode()

    assert "People have taken part in the sample" in page
    assert Study.objects.filter(pk=study.pk).exists()


@pytest.mark.nightly
def test_nobody_removes_the_sample_of_another_user(client, ada):
    client.post(reverse("sample:sample"))
    eve = User.objects.create_user("eve", password="a long and unusual password")
    client.force_login(eve)

    page = _list(client)
    client.post(reverse("sample:sample"), {"action": "remove"})

    assert OFFER not in page  # she may not create studies
    assert REMOVE not in page
    assert client.post(reverse("sample:sample")).status_code == 403
    assert Study.objects.count() == 1
