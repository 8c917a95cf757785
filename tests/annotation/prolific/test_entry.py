"""Whether somebody who opens the link is who the link says."""

from contextlib import ExitStack
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation import services
from annotation.models import (
    Annotator,
    ProlificIdentity,
    ProlificStudy,
    ProlificSubmission,
    Recruitment,
)
from annotation.prolific.sync.polling import refresh
from annotation.prolific.sync.sync import MOST_ASKING, follow, look_up_unlisted, page_client
from annotation.services.identities import identity_hash
from annotation.tasks import refresh_prolific
from demo.prolific.records import Submission, new_id
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


def test_a_submission_of_another_study_lets_nobody_in(study, row, prolific):
    other = published(make_recruiting())

    assert enter(study, prolific.world.arrive(other.prolific_id)).status_code == 400


def test_a_submission_that_is_over_lets_nobody_in(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.world.give_back(person["submission"])

    assert enter(study, person).status_code == 400


def test_somebody_who_enters_between_the_lists_and_the_look_ups_is_not_doubted(
    study, row, prolific, monkeypatch
):
    person = prolific.world.arrive(row.prolific_id)

    def look_up_later(*arguments):
        enter(study, person)
        return look_up_unlisted(*arguments)

    # The list is read while they are not known here.
    monkeypatch.setattr("annotation.prolific.sync.sync.look_up_unlisted", look_up_later)
    follow(study_id=study.pk)

    assert ProlificSubmission.objects.get().annotator == Annotator.objects.get()
    assert not ProlificIdentity.objects.exclude(unknown_since=None).exists()


@pytest.mark.parametrize("fault", ["404", "500", "dropped_before"])
def test_people_who_cannot_be_looked_up_enter_and_are_found_later(fault, study, row, prolific):
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
def queued(monkeypatch) -> list[int]:
    """The studies that arrivals asked to read."""
    asked: list[int] = []
    monkeypatch.setattr(refresh_prolific, "delay_on_commit", asked.append)
    return asked


@pytest.fixture
def left(prolific) -> ProlificStudy:
    """Three people fill the study's items; one of them leaves, and nobody tells us."""
    row = published(make_recruiting(items=3, per_person=3))
    people = [arrive(prolific, row) for _ in range(3)]
    follow(study_id=row.study_id)
    prolific.world.give_back(people[1][0]["submission"])
    return row


def test_a_replacement_takes_the_seats_of_somebody_who_left(left, prolific, queued):
    assert enter(left.study, prolific.world.arrive(left.prolific_id)).status_code == 302
    Recruitment.objects.update(checked_at=timezone.now() - timedelta(minutes=1))

    for study_id in queued:
        refresh_prolific(study_id)

    newcomer = Annotator.objects.latest("pk")
    services.consent(annotator_id=newcomer.pk, version="v1")
    services.finish_instructions(annotator_id=newcomer.pk)
    assert list(newcomer.assignments.values_list("is_surplus", flat=True)) == [False] * 3
    assert Annotator.objects.filter(state="returned").count() == 1


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("fault", ["404", "502_html"])
def test_arrivals_continue_while_prolific_cannot_be_read(fault, left, prolific, queued):
    person = prolific.world.arrive(left.prolific_id)
    prolific.fault("GET", "submissions/", fault, times=2)

    assert enter(left.study, person).status_code == 302

    assert queued == [left.study_id]
    assert not Annotator.objects.filter(state="returned").exists()


def test_a_failed_reading_does_not_count(left, prolific):
    prolific.fault("GET", "submissions/", "401")
    before = timezone.now() - timedelta(minutes=1)
    Recruitment.objects.update(checked_at=before)

    refresh_prolific(left.study_id)

    found = Recruitment.objects.get(study=left.study)
    assert found.checked_at == before
    assert found.last_error


@pytest.mark.nightly
def test_twenty_who_arrive_together_ask_for_one_reading(left, prolific, queued):
    Recruitment.objects.update(checked_at=timezone.now() - timedelta(minutes=1))
    people = [stranger(prolific, left) for _ in range(20)]
    prolific.requests.clear()

    for person in people:
        assert enter(left.study, person).status_code == 302

    assert queued == [left.study_id]
    assert len(prolific.requests) == 20  # each person's own submission
    prolific.requests.clear()
    read = [refresh(study_id=left.study_id) for _ in range(20)]
    assert read == [True] + [False] * 19
    assert sum("GET submissions/" in one for one in prolific.requests) == 1


def stranger(prolific, row) -> dict[str, str]:
    """Somebody who holds a place there, whatever the number of places."""
    submission = Submission(new_id(), str(row.prolific_id), new_id(), ())
    prolific.world.submissions[submission.id] = submission
    return prolific.world.card(submission)


def earlier_people(prolific, row, number: int) -> None:
    """Add people who came, left on Prolific and are known to have left."""
    people = [stranger(prolific, row) for _ in range(number)]
    gone = Annotator.objects.bulk_create(
        Annotator(
            study=row.study,
            state=Annotator.State.RETURNED,
            identity_hash=identity_hash(person["participant"]),
            ended_at=timezone.now(),
        )
        for person in people
    )
    read = []
    for person, annotator in zip(people, gone, strict=True):
        remote = prolific.world.submissions[person["submission"]]
        remote.status, remote.started_at = "RETURNED", remote.started_at.replace(microsecond=0)
        read.append(
            ProlificSubmission(
                prolific_study=row,
                annotator=annotator,
                submission_id=remote.id,
                participant=remote.participant,
                status="RETURNED",
                followed="RETURNED",
                started_at=remote.started_at,
                seen_at=timezone.now(),
            )
        )
    ProlificSubmission.objects.bulk_create(read)


@pytest.mark.nightly
def test_an_arrival_costs_the_same_however_many_came_before(left, prolific, queued):
    enter(left.study, stranger(prolific, left))  # statements that are sent once in a process
    queued.clear()
    costs = {}
    for more in (0, 100):
        earlier_people(prolific, left, more)
        cache.clear()
        person = stranger(prolific, left)
        prolific.requests.clear()
        with CaptureQueriesContext(connection) as statements:
            assert enter(left.study, person).status_code == 302
        costs[more] = (len(statements), len(prolific.requests))

    assert costs[0] == costs[100]
    assert costs[0][1] == 1
    assert queued == [left.study_id] * 2


def test_reading_again_what_has_not_changed_costs_few_statements(left, prolific):
    follow(study_id=left.study_id)
    earlier_people(prolific, left, 200)

    with CaptureQueriesContext(connection) as statements:
        read = follow(study_id=left.study_id)

    assert read == 203
    assert len(statements) < 60
    assert not ProlificSubmission.objects.filter(seen_at__lt=F("prolific_study__seen_at")).exists()


def test_of_many_arrivals_at_once_only_a_few_wait_for_prolific(study, row, prolific):
    """Otherwise they take every thread, and answers of those in mid-work wait behind them."""
    people = [prolific.world.arrive(row.prolific_id) for _ in range(2)]
    looked_up = [f"GET submissions/{person['submission']}/" for person in people]

    with ExitStack() as others:
        for _ in range(MOST_ASKING):
            others.enter_context(page_client(study.pk))
        assert enter(study, people[0]).status_code == 302
    assert looked_up[0] not in prolific.requests
    assert enter(study, people[1]).status_code == 302
    assert looked_up[1] in prolific.requests

    follow(study_id=study.pk)

    assert {each.participant for each in ProlificSubmission.objects.exclude(annotator=None)} == {
        person["participant"] for person in people
    }
