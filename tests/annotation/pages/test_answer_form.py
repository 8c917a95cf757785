"""Whose answer the form of an item stores, and when."""

import pytest
from django.core import signing
from django.test import Client

from annotation import services
from annotation.models import Annotation, Annotator, Assignment
from tests.annotation.pages.walking import item_page, post_answer, start, token_of
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("assignment", ["", "1", "forged:token:value", None, "of somebody else"])
def test_a_form_without_our_token_is_not_found(client, study, assignment):
    if assignment == "of somebody else":
        assignment = token_of(item_page(start(study, "somebody-else"), study))

    response = post_answer(client, item_page(client, study), assignment=assignment)

    assert response.status_code == 404
    assert not Annotation.objects.exists()


def test_an_assignment_at_another_position_is_not_found(client, study):
    response = post_answer(client, item_page(client, study), f"/s/{study.slug}/task/2/")

    assert response.status_code == 404
    assert not Annotation.objects.exists()


def test_a_token_that_names_somebody_elses_assignment_is_not_found(client, study):
    start(study, "somebody-else")
    theirs = Assignment.objects.exclude(annotator=Annotator.objects.first()).first()
    mine = Annotator.objects.first()
    mixed = signing.dumps([mine.pk, theirs.pk, 0], salt="annotation.assignment")

    response = post_answer(client, item_page(client, study), assignment=mixed)

    assert response.status_code == 404


def test_a_resend_survives_an_expired_cookie(client, study):
    page = item_page(client, study)
    fresh = Client()

    response = post_answer(fresh, page)

    assert response.status_code == 303
    assert Annotation.objects.count() == 1
    assert fresh.get(response["Location"]).status_code == 200


def test_a_token_opens_no_other_study(client, study):
    other = make_study()

    response = post_answer(Client(), item_page(client, study), f"/s/{other.slug}/task/1/")

    assert response.status_code == 400
    assert not Annotation.objects.exists()


def test_a_closed_study_stores_no_answer(client, study):
    page = item_page(client, study)
    study.state = "closed"
    study.save()

    response = post_answer(client, page)

    assert response.status_code == 403
    assert not Annotation.objects.exists()


def test_an_answer_that_comes_after_the_time_limit_is_kept(client, study):
    page = item_page(client, study)
    services.time_out(annotator_id=Annotator.objects.get().pk)

    response = post_answer(client, page)

    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/done/")
    assert Annotation.objects.get().standing == "released"
