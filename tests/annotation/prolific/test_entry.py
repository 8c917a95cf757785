"""Whether somebody who opens the link is who the link says."""

import pytest
from django.test import Client
from django.urls import reverse

from annotation import services
from annotation.errors import EntryRefused
from annotation.models import (
    Annotator,
    ProlificStudy,
    ProlificSubmission,
)
from annotation.prolific.sync.entry import verify_return
from annotation.prolific.sync.sync import follow
from tests.annotation.prolific.life import arrive, make_recruiting, published

pytestmark = pytest.mark.django_db


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


def test_who_comes_back_is_compared_with_the_submission_of_the_second_study(study, row, prolific):
    other = published(make_recruiting())  # by hand on Prolific, so not one of this study
    person = prolific.world.arrive(other.prolific_id)
    query = {"PROLIFIC_PID": person["participant"], "SESSION_ID": person["submission"]}

    verify_return(study, query)
    verify_return(study, query | {"SESSION_ID": "b" * 24})  # may be seconds old
    for edited in ({"PROLIFIC_PID": "b" * 24}, {"SESSION_ID": ""}):
        with pytest.raises(EntryRefused):
            verify_return(study, query | edited)


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


@pytest.fixture
def left(prolific) -> ProlificStudy:
    """Three people fill the study's items; one of them leaves, and nobody tells us."""
    row = published(make_recruiting(items=3, per_person=3))
    people = [arrive(prolific, row) for _ in range(3)]
    follow(study_id=row.study_id)
    prolific.world.give_back(people[1][0]["submission"])
    return row


def test_who_stands_in_for_a_leaver_takes_their_seats(left, prolific):
    assert enter(left.study, prolific.world.arrive(left.prolific_id)).status_code == 302

    newcomer = Annotator.objects.latest("pk")
    services.consent(annotator_id=newcomer.pk, version="v1")
    services.finish_instructions(annotator_id=newcomer.pk)
    assert list(newcomer.assignments.values_list("is_surplus", flat=True)) == [False] * 3
    assert Annotator.objects.filter(state="returned").count() == 1


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("fault", ["404", "500", "429", "dropped_before", "502_html"])
def test_that_nobody_can_say_who_left_stops_no_arrival(fault, left, prolific):
    person = prolific.world.arrive(left.prolific_id)
    prolific.fault("GET", "submissions/", fault, times=2)

    assert enter(left.study, person).status_code == 302

    assert not Annotator.objects.filter(state="returned").exists()


def test_with_seats_to_spare_nobody_else_is_read(study, row, prolific):
    arrive(prolific, row)
    person = prolific.world.arrive(row.prolific_id)
    prolific.requests.clear()

    enter(study, person)

    assert len(prolific.requests) == 1
