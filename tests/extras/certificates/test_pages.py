"""The pages of certificates: request, result, passport, labels, and a study for the rest."""

import json
from unittest.mock import patch

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from analysis.passports import read_passport
from extras.certificates import tasks
from extras.certificates.models import Certificate, Labelling
from judging.models import Jury
from studies.models import Item, Membership, Study
from tests.analysis.labelled_items import judge_it, make_certifiable
from tests.factories import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """A judge that is certified from 61 on, with a hostile name."""
    made = make_certifiable(60)
    judge_it(
        made,
        judge="<b>steady</b>",
        certainty=lambda n: 90 if n % 3 else 60,
        is_right=lambda n: n % 3 > 0 or n % 2 > 0,
    )
    return made


@pytest.fixture
def client(study) -> Client:
    return sign_in(study)


def address(name, study, *more):
    return reverse(f"certificates:{name}", args=[study.slug, *more])


def wish(study, **changes):
    run = study.judge_runs.get()
    return {
        "action": "new",
        "judge": run.public_id,
        "signal": "stated",
        "target": "first_person",
        "error": "10",
        "confidence": "90",
        "among": "1",
    } | changes


def certified(client, study, **changes):
    with patch.object(tasks.certify_judge, "delay_on_commit"):
        response = client.post(address("list", study), wish(study, **changes))
    assert response.status_code == 302
    job = Certificate.objects.latest("pk")
    tasks.certify_judge(job.pk)
    job.refresh_from_db()
    return job


def labelled(client, study, job):
    with patch.object(tasks.label_items, "delay_on_commit"):
        client.post(address("show", study, job.public_id), {"action": "label"})
    tasks.label_items(Labelling.objects.get(certificate=job).pk)


def test_a_certificate_is_requested_computed_and_shown(client, study):
    job = certified(client, study)

    page = client.get(address("show", study, job.public_id)).content.decode()
    listed = client.get(address("list", study)).content.decode()

    assert (job.state, job.result["threshold"]) == ("done", 61)
    assert job.result["sentence"] in page.replace("&#x27;", "'")
    assert "✔ passed" in page
    assert "✖ failed" in page
    assert "<b>steady" not in page + listed
    assert "✔ certified" in listed
    held = client.get(address("passport", study, job.public_id))
    assert read_passport(held.content.decode())["threshold"] == 61
    assert held["Content-Disposition"].endswith('-passport.json"')


def test_labels_are_downloaded_and_the_rest_becomes_a_study(client, study):
    job = certified(client, study)
    labelled(client, study, job)

    page = client.get(address("show", study, job.public_id)).content.decode()
    rows = client.get(address("labels", study, job.public_id)).content.decode().splitlines()

    assert "40 of 60 items labelled" in page
    assert len(rows) == 61
    assert rows[1].split(",")[7:9] == ["left", "below_threshold"]
    refused = client.post(
        address("show", study, job.public_id), {"action": "route", "slug": "rest"}
    )
    assert refused.status_code == 403
    for membership in Membership.objects.filter(study=study):
        membership.user.user_permissions.add(Permission.objects.get(codename="add_study"))
    taken = client.post(
        address("show", study, job.public_id), {"action": "route", "slug": study.slug}
    )
    assert (taken.status_code, b"already a study" in taken.content) == (422, True)
    made = client.post(address("show", study, job.public_id), {"action": "route", "slug": "rest"})
    assert made.status_code == 302
    assert Item.objects.filter(study=Study.objects.get(slug="rest")).count() == 20


def test_what_is_not_certified_says_why_and_gives_no_passport(client, study):
    job = certified(client, study, error="1")

    page = client.get(address("show", study, job.public_id)).content.decode()

    assert job.passport == ""
    assert "Nothing is certified" in page
    assert "Download passport" not in page
    for name in ("passport", "labels"):
        assert client.get(address(name, study, job.public_id)).status_code == 404
    assert (
        client.post(address("show", study, job.public_id), {"action": "label"}).status_code == 404
    )


def test_a_form_with_a_fault_is_shown_again(client, study):
    response = client.post(address("list", study), wish(study, error="200", judge="none"))

    assert response.status_code == 422
    assert not Certificate.objects.exists()
    assert b"There is a problem" in response.content


def test_viewers_read_and_others_find_nothing(client, study):
    job = certified(client, study)

    viewer = sign_in(study, "viewer")
    assert viewer.get(address("passport", study, job.public_id)).status_code == 200
    assert b"Certify judge" not in viewer.get(address("list", study)).content
    assert (
        viewer.post(address("show", study, job.public_id), {"action": "label"}).status_code == 404
    )
    assert sign_in(study, "").get(address("show", study, job.public_id)).status_code == 404


def test_pressing_twice_asks_once_and_a_moved_judge_fails_in_words(client, study):
    with patch.object(tasks.certify_judge, "delay_on_commit"):
        for _ in range(2):
            client.post(address("list", study), wish(study))
    assert Certificate.objects.count() == 1
    job = Certificate.objects.get()
    waiting = client.get(address("show", study, job.public_id), {"progress": ""})
    status = json.loads(waiting.content)
    assert status == {"progress": 0, "message": "Waiting for a worker.", "open": True}
    tasks.certify_judge(job.pk)
    judge = study.judge_runs.get().judge
    judge.model = "another"
    judge.save(update_fields=["model"])

    labelled(client, study, job)

    page = client.get(address("show", study, job.public_id)).content.decode()
    assert "The certificate does not hold here." in page
    assert "Label again" in page


def test_a_jury_is_offered_and_certified(client, study):
    jury = Jury.objects.create(study=study, name="Panel")
    jury.judges.set([study.judge_runs.get().judge])

    job = certified(client, study, judge="jury Panel", target="first_person")

    assert (job.judge, job.run) == ("Panel", "")
    assert read_passport(job.passport)["jury"] == "Panel"
