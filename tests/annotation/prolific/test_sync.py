"""Our state follows Prolific's, whatever becomes of the webhooks."""

import datetime as dt

import pytest
from django.utils import timezone

from annotation import services
from annotation.models import (
    Annotation,
    Annotator,
    ProlificStudy,
    ProlificSubmission,
    QuotaGroup,
)
from annotation.prolific.api.client import connect
from annotation.prolific.api.transport import NotFound, ProlificError
from annotation.prolific.api.types import RemoteSubmission
from annotation.prolific.launch import launch
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.sync.polling import follow_all
from annotation.prolific.sync.sync import apply, follow
from annotation.services.endings import release_expired
from studies.models import Item
from tests.annotation.prolific.life import (
    BALANCE,
    answer_some,
    arrive,
    finish,
    launched,
    make_recruiting,
    published,
    seats_taken,
    state_of,
    time_to_read,
    with_quotas,
)
from tests.factories import answer_all, make_annotator

pytestmark = pytest.mark.django_db
State = Annotator.State


@pytest.mark.parametrize("spelling", ["TIMED-OUT", "TIMED_OUT"])
def test_a_time_out_on_prolific_frees_the_seats(spelling, study, row, prolific):
    prolific.world.behaviour.timed_out = spelling
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.time_out(person["submission"])

    follow(study_id=study.pk)

    assert state_of(annotator) == State.TIMED_OUT
    assert seats_taken(study) == 0
    assert Annotation.objects.get().standing == Annotation.Standing.RELEASED


def test_a_return_frees_seats_and_quota_place(prolific):
    study = with_quotas(make_recruiting(), each=1)
    row = published(study, LaunchPlan(balance=BALANCE))
    person, annotator = arrive(prolific, row)
    assert sum(QuotaGroup.objects.values_list("reserved", flat=True)) == 1
    prolific.world.give_back(person["submission"])

    follow(study_id=study.pk)

    assert state_of(annotator) == State.RETURNED
    assert seats_taken(study) == sum(QuotaGroup.objects.values_list("reserved", flat=True)) == 0


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("status", ["SCREENED OUT", "PARTIALLY APPROVED"])
def test_a_screen_out_or_partial_payment_frees_seats_and_quota_place(status, prolific):
    study = with_quotas(make_recruiting(), each=1)
    row = published(study, LaunchPlan(balance=BALANCE))
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.submissions[person["submission"]].status = status

    for _ in range(2):
        follow(study_id=study.pk)

    assert state_of(annotator) == State.RETURNED
    assert seats_taken(study) == sum(QuotaGroup.objects.values_list("reserved", flat=True)) == 0
    # Whoever continues anyway works without seats, so that nobody is kept out.
    services.resume(annotator_id=annotator.pk)
    follow(study_id=study.pk)
    assert (state_of(annotator), seats_taken(study)) == (State.ANNOTATING, 0)


@pytest.mark.parametrize(
    ("status", "state", "seats"),
    [
        ("SCREENED OUT", State.RETURNED, 0),
        ("PARTIALLY APPROVED", State.COMPLETED, 3),
        ("TIMED-OUT", State.COMPLETED, 3),
    ],
)
def test_complete_work_keeps_its_seats_unless_it_was_screened_out(
    status, state, seats, study, row, prolific
):
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    prolific.world.submissions[person["submission"]].status = status

    follow(study_id=study.pk)

    assert (state_of(annotator), seats_taken(study)) == (state, seats)


def test_a_rejection_gives_seats_back_and_its_reversal_takes_them_again(study, row, prolific):
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    submission = prolific.world.submissions[person["submission"]]

    submission.status = "REJECTED"
    follow(study_id=study.pk)
    assert (state_of(annotator), seats_taken(study)) == (State.REJECTED, 0)

    submission.status = "APPROVED"
    follow(study_id=study.pk)
    assert (state_of(annotator), seats_taken(study)) == (State.COMPLETED, 3)


def test_answering_everything_completes_even_without_the_last_page(study, row, prolific):
    person, annotator = arrive(prolific, row)
    answer_all(annotator)
    prolific.world.finish(person["submission"], "NOCODE")

    follow(study_id=study.pk)

    assert state_of(annotator) == State.COMPLETED


@pytest.mark.parametrize("leave", ["time_out", "give_back"])
def test_continuing_after_leaving_is_not_stopped_again(leave, study, row, prolific):
    person, annotator = arrive(prolific, row)
    getattr(prolific.world, leave)(person["submission"])
    follow(study_id=study.pk)
    services.resume(annotator_id=annotator.pk)

    for _ in range(2):
        follow(study_id=study.pk)
        assert state_of(annotator) == State.ANNOTATING
    answer_all(annotator)
    services.complete(annotator_id=annotator.pk)
    follow(study_id=study.pk)

    assert state_of(annotator) == State.COMPLETED
    assert set(Annotation.objects.values_list("standing", flat=True)) == {"counted"}


def test_a_change_lost_in_a_crash_is_made_up_for(study, row, prolific, monkeypatch):
    person, annotator = arrive(prolific, row)
    prolific.world.give_back(person["submission"])

    def crash(**_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(services, "mark_returned", crash)
        with pytest.raises(KeyboardInterrupt):
            follow(study_id=study.pk)
    follow(study_id=study.pk)

    assert state_of(annotator) == State.RETURNED


def test_continuing_without_a_place_takes_no_seat_from_the_replacement(study, row, prolific):
    person, late = arrive(prolific, row)
    answer_some(late, 1)
    prolific.world.time_out(person["submission"])
    follow(study_id=study.pk)
    services.resume(annotator_id=late.pk)

    assert seats_taken(study) == 0
    for _ in range(6):
        finish(prolific, *arrive(prolific, row))
    assert set(Item.objects.values_list("answered", flat=True)) == {3}

    answer_all(late)
    services.complete(annotator_id=late.pk)
    standings = Annotation.objects.filter(assignment__annotator=late)
    assert set(standings.values_list("standing", flat=True)) == {"surplus"}


def test_returning_without_seats_means_surplus_work(study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    annotator = services.enter(
        study=study, pid=person["participant"], session_id=person["submission"]
    )
    services.consent(annotator_id=annotator.pk, version="v1")
    prolific.world.give_back(person["submission"])
    follow(study_id=study.pk)
    services.resume(annotator_id=annotator.pk)

    services.finish_instructions(annotator_id=annotator.pk)

    assert seats_taken(study) == 0


def test_work_that_was_handed_in_unfinished_keeps_its_seats_until_its_time_is_over(
    study, row, prolific
):
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.finish(person["submission"], "NOCODE")
    follow(study_id=study.pk)
    assert (state_of(annotator), seats_taken(study)) == (State.ANNOTATING, 3)

    Annotator.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    release_expired(study_id=study.pk)

    assert (state_of(annotator), seats_taken(study)) == (State.TIMED_OUT, 0)


@pytest.mark.parametrize("status", ["UNKNOWN", "", "NEW THING"])
def test_an_unknown_status_changes_nothing(status, study, row, prolific):
    person, annotator = arrive(prolific, row)
    prolific.world.submissions[person["submission"]].status = status

    follow(study_id=study.pk)

    assert (state_of(annotator), seats_taken(study)) == (State.ANNOTATING, 3)


def test_people_of_a_child_study_are_found_and_followed(prolific, study):
    prolific.world.behaviour.child_studies = True
    row = published(study)
    person, annotator = arrive(prolific, row)

    follow(study_id=study.pk)
    row.refresh_from_db()
    assert row.child_ids == [prolific.world.studies[row.prolific_id]["child"]]

    prolific.world.give_back(person["submission"])
    other = prolific.world.arrive(row.prolific_id)
    follow(study_id=study.pk)

    assert state_of(annotator) == State.RETURNED
    assert ProlificSubmission.objects.filter(submission_id=other["submission"]).exists()


def test_older_data_never_replaces_newer_data(study, row, prolific):
    person, annotator = arrive(prolific, row)
    earlier = timezone.now()
    active = connect(study.pk).submission(person["submission"])
    prolific.world.give_back(person["submission"])
    follow(study_id=study.pk)

    apply(row, active, read_at=earlier)

    assert ProlificSubmission.objects.get().status == "RETURNED"
    assert state_of(annotator) == State.RETURNED


def test_an_earlier_submission_does_not_affect_a_later_one(study, row, prolific):
    person, annotator = arrive(prolific, row)
    follow(study_id=study.pk)
    old = {
        "id": "a" * 24,
        "participant_id": person["participant"],
        "status": "RETURNED",
        "started_at": "2020-01-01T00:00:00Z",
    }

    apply(row, RemoteSubmission.of(old, study_id=row.prolific_id), read_at=timezone.now())

    assert state_of(annotator) == State.ANNOTATING


@pytest.mark.parametrize("fault", ["429", "502_html", "malformed"])
def test_a_fault_keeps_known_data_and_the_next_reading_catches_up(fault, study, row, prolific):
    person, annotator = arrive(prolific, row)
    follow(study_id=study.pk)
    prolific.world.give_back(person["submission"])
    prolific.fault("GET", "submissions/", fault)

    with pytest.raises(ProlificError):
        follow(study_id=study.pk)
    assert state_of(annotator) == State.ANNOTATING

    follow(study_id=study.pk)
    assert state_of(annotator) == State.RETURNED


def test_an_old_study_is_still_read_once_an_hour(prolific, row):
    def age(**fields) -> None:
        ProlificStudy.objects.update(created_at=timezone.now() - dt.timedelta(days=200), **fields)
        time_to_read()
        prolific.requests.clear()

    age(seen_at=timezone.now() - dt.timedelta(minutes=59))
    assert follow_all() == 0
    age(seen_at=timezone.now() - dt.timedelta(minutes=61))
    assert follow_all() == 1

    prolific.world.balance += 10_000
    prolific.world.transition_study(row.prolific_id, "STOP")
    age(seen_at=timezone.now() - dt.timedelta(minutes=61))
    assert follow_all() == 1
    age(seen_at=timezone.now() - dt.timedelta(minutes=61))
    assert follow_all() == 0  # completed, and nobody is left to be settled


def test_an_unreadable_study_does_not_stop_the_others(prolific):
    broken, fine = make_recruiting(), make_recruiting()
    launched(broken)
    row = published(fine)
    person, annotator = arrive(prolific, row)
    prolific.world.give_back(person["submission"])
    del prolific.world.studies[ProlificStudy.objects.get(study=broken).prolific_id]

    assert follow_all() == 1
    assert state_of(annotator) == State.RETURNED


def test_without_a_token_nothing_is_followed(row, settings):
    settings.PROLIFIC_API_TOKEN = ""

    assert follow_all() == 0


def test_imported_raters_are_not_looked_up(study, row, prolific):
    make_annotator(study=study, is_imported=True, identity_hash=None)

    assert follow(study_id=study.pk) == 0


def test_a_group_that_was_deleted_on_prolific_does_not_keep_the_others_unread(prolific):
    study = with_quotas(make_recruiting(), each=1)
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(balance=BALANCE, apart=True))
    first, *_, last = launch.launch(study_id=study.pk)
    prolific.world.delete_study(first.prolific_id)
    prolific.world.transition_study(last.prolific_id, "PUBLISH")

    with pytest.raises(NotFound):
        follow(study_id=study.pk)

    last.refresh_from_db()
    assert last.status != "UNPUBLISHED"
