"""Whether somebody who opens the link is who the link says."""

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import (
    Annotator,
    ProlificStudy,
    ProlificSubmission,
)
from annotation.prolific.sync import follow
from tests.annotation.prolific.life import (
    make_recruiting,
    published,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_recruiting()


@pytest.fixture
def row(study, prolific) -> ProlificStudy:
    return published(study)


def state_of(annotator: Annotator) -> str:
    return Annotator.objects.values_list("state", flat=True).get(pk=annotator.pk)


def enter(study, person, **changes):
    query = {
        "PROLIFIC_PID": person["participant"],
        "STUDY_ID": "6" * 24,
        "SESSION_ID": person["submission"],
    }
    return Client().get(reverse("annotation:entry", args=[study.slug]), query | changes)


def test_somebody_whose_submission_fits_is_let_in(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)

    assert enter(study, person).status_code == 302
    assert ProlificSubmission.objects.get().participant == person["participant"]


@pytest.mark.parametrize(
    "changes", [{"PROLIFIC_PID": "b" * 24}, {"SESSION_ID": ""}], ids=["other person", "no session"]
)
def test_an_edited_link_lets_nobody_in(changes, study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)

    assert enter(study, person, **changes).status_code == 400
    assert not Annotator.objects.exists()


def test_a_submission_of_another_study_lets_nobody_in(study, row, prolific):
    other = published(make_recruiting())

    assert enter(study, prolific.world.arrive(other.prolific_id)).status_code == 400


def test_a_submission_that_is_over_lets_nobody_in(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.world.give_back(person["submission"])

    assert enter(study, person).status_code == 400


@pytest.mark.parametrize("fault", ["404", "500", "429", "dropped_before", "502_html"])
def test_who_cannot_be_looked_up_is_let_in_and_found_later(fault, study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.fault("GET", f"submissions/{person['submission']}", fault)

    assert enter(study, person).status_code == 302
    follow(study_id=study.pk)

    assert ProlificSubmission.objects.get().annotator == Annotator.objects.get()


def test_prolific_is_asked_once_a_session(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.requests.clear()

    for _ in range(3):
        enter(study, person)

    assert len(prolific.requests) == 1
