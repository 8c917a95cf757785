"""The way through a study: arriving, coming back, ending, and what each releases."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation import services
from annotation.errors import AlreadyEnded, Unfinished, WrongStep
from annotation.models import (
    Annotation,
    Annotator,
    AnnotatorEvent,
    CompletionCode,
    Ending,
    ProlificIdentity,
    ProlificStudy,
    ProlificSubmission,
)
from annotation.seats import flow
from annotation.services.identities import purge_identities
from annotation.tasks import release_expired_seats
from studies.models import Study
from tests.factories import (
    answer_all,
    answer_item,
    finish,
    make_items,
    make_study,
    take_part,
    walk_in,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=2, annotations_per_item=2)
    make_items(study, 4)
    return study


def seats_taken(study: Study) -> int:
    return sum(study.all_items.values_list("seats_taken", flat=True))


def expire(annotator: Annotator) -> None:
    Annotator.objects.filter(pk=annotator.pk).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )


# Arriving


def test_a_reload_finds_the_same_person_and_keeps_every_session_id(study):
    first = services.enter(study=study, pid="p1", session_id="s1")
    second = services.enter(study=study, pid="p1", session_id="s2")
    services.enter(study=study, pid="p1", session_id="s1")

    assert first.pk == second.pk
    assert ProlificIdentity.objects.get().session_ids == ["s1", "s2"]
    assert AnnotatorEvent.objects.count() == 1


def test_a_deleted_identity_still_blocks_a_second_entry(study):
    annotator = take_part(study, "p1")

    purged = purge_identities(study_id=study.pk)
    back = services.enter(study=study, pid="p1", session_id="s9")

    assert purged == 1
    assert back.pk == annotator.pk
    assert back.state == Annotator.State.COMPLETED
    assert ProlificIdentity.objects.count() == 0
    assert "p1" not in str(Annotator.objects.values())


# Steps


def test_the_steps_lead_to_the_items_and_are_logged(study):
    annotator = walk_in(study)

    assert flow.step_of(annotator) == "task"
    assert list(annotator.events.values_list("after", flat=True)) == [
        "arrived",
        "consented",
        "screened",
        "instructed",
        "qualified",
        "annotating",
    ]
    assert annotator.assignments.count() == 2


# Endings


def test_completion_needs_every_answer_and_happens_once(study):
    annotator = walk_in(study)

    with pytest.raises(Unfinished, match="2 items"):
        services.complete(annotator_id=annotator.pk)
    finish(annotator)
    ended = services.complete(annotator_id=annotator.pk)

    assert ended.state == Annotator.State.COMPLETED
    assert ended.expires_at is None
    assert ended.events.filter(after="completed").count() == 1
    assert seats_taken(study) == 2


def test_every_ending_has_its_own_code(study):
    annotator = services.enter(study=study, pid="p1")

    declined = services.decline(annotator_id=annotator.pk)

    codes = dict(CompletionCode.objects.values_list("ending", "code"))
    assert set(codes) == set(Ending.values)
    assert len(set(codes.values())) == len(Ending.values)
    assert flow.completion_code(declined) == codes["declined"]
    assert services.decline(annotator_id=annotator.pk).pk == annotator.pk
    assert dict(CompletionCode.objects.values_list("ending", "code")) == codes


@pytest.mark.parametrize(
    ("leave", "standing"),
    [
        (services.withdraw, "withdrawn"),
        (services.mark_returned, "released"),
        (services.time_out, "released"),
        (services.reject, "released"),
    ],
)
def test_leaving_releases_every_seat_and_keeps_the_answers(study, leave, standing):
    annotator = walk_in(study)
    first = annotator.assignments.get(position=1)
    answer_item(first, certainty=60)

    ended = leave(annotator_id=annotator.pk)
    leave(annotator_id=annotator.pk)

    assert flow.step_of(ended) == "done"
    assert seats_taken(study) == 0
    assert sum(study.all_items.values_list("answered", flat=True)) == 0
    assert Annotation.objects.get().standing == standing
    assert ended.events.filter(after=ended.state).count() == 1


def test_withdrawing_deletes_the_identity(study):
    pid = "5f" * 12
    annotator = walk_in(study, pid)
    answer_all(annotator)
    services.leave_feedback(annotator_id=annotator.pk, text="I am Ada, write to me")
    services.complete(annotator_id=annotator.pk)
    Annotator.objects.update(demographics={"sex": "Female"})
    recruited = ProlificStudy.objects.create(study=study, prolific_id="ps1")
    submission = ProlificSubmission.objects.create(
        prolific_study=recruited,
        annotator=annotator,
        submission_id="s-1",
        participant=pid,
    )

    services.withdraw(annotator_id=annotator.pk)

    annotator.refresh_from_db()
    submission.refresh_from_db()
    assert (annotator.feedback, annotator.demographics) == ("", {})
    assert not ProlificIdentity.objects.exists()
    assert submission.participant == ""
    assert submission.submission_id == "s-1"
    assert services.enter(study=study, pid=pid).pk == annotator.pk


def test_somebody_may_withdraw_after_completion(study):
    annotator = take_part(study)

    services.withdraw(annotator_id=annotator.pk)

    assert seats_taken(study) == 0
    assert set(Annotation.objects.values_list("standing", flat=True)) == {"withdrawn"}
    with pytest.raises(AlreadyEnded):
        services.resume(annotator_id=annotator.pk)


# Time


@pytest.mark.parametrize("is_reading", [False, True], ids=["arrives", "reads the instructions"])
def test_seats_of_somebody_whose_time_is_over_go_to_the_next_who_gets_there(is_reading):
    study = make_study(items_per_annotator=2, annotations_per_item=1)
    make_items(study, 2)
    gone = walk_in(study)
    reader = services.enter(study=study, pid="reader", session_id="s-reader")
    if is_reading:
        services.consent(annotator_id=reader.pk, version="v1")
    expire(gone)

    next_one = walk_in(study, "reader")

    gone.refresh_from_db()
    assert gone.state == Annotator.State.TIMED_OUT
    assert not next_one.assignments.filter(is_surplus=True).exists()


def test_the_schedule_releases_what_has_expired_and_only_that(study):
    gone, present = walk_in(study), walk_in(study)
    expire(gone)

    release_expired_seats()
    release_expired_seats()

    gone.refresh_from_db()
    present.refresh_from_db()
    assert (gone.state, present.state) == ("timed_out", "annotating")
    assert gone.events.filter(after="timed_out").count() == 1
    assert seats_taken(study) == 2


def test_answering_everything_counts_as_completed_without_the_last_page(study):
    annotator = walk_in(study)
    answer_all(annotator)
    expire(annotator)

    release_expired_seats()

    annotator.refresh_from_db()
    assert annotator.state == Annotator.State.COMPLETED
    assert seats_taken(study) == 2


def test_annotators_of_a_closed_study_continue_when_it_reopens(study):
    annotator = walk_in(study, "p1")
    Study.objects.update(state="closed")
    release_expired_seats()
    annotator.refresh_from_db()
    closed, held = annotator.state, seats_taken(study)

    Study.objects.update(state="open")
    back = services.enter(study=study, pid="p1")

    assert (closed, held) == ("closed", 0)
    assert back.state == Annotator.State.ANNOTATING
    assert seats_taken(study) == 2


def test_on_prolific_people_out_of_time_choose_to_continue(study):
    annotator = walk_in(study, "p1")
    before = list(annotator.assignments.values_list("pk", "item", "shown_first"))
    services.time_out(annotator_id=annotator.pk)

    back = services.enter(study=study, pid="p1")
    resumed = services.resume(annotator_id=annotator.pk)

    assert back.state == Annotator.State.TIMED_OUT
    assert resumed.state == Annotator.State.ANNOTATING
    assert resumed.expires_at > timezone.now()
    assert list(annotator.assignments.values_list("pk", "item", "shown_first")) == before
    assert seats_taken(study) == 2


def test_returning_too_late_means_surplus_work_if_the_seats_are_gone():
    study = make_study(items_per_annotator=2, annotations_per_item=1)
    make_items(study, 2)
    late = walk_in(study)
    services.time_out(annotator_id=late.pk)
    walk_in(study)

    services.resume(annotator_id=late.pk)

    assert set(late.assignments.values_list("state", "is_surplus")) == {("reserved", True)}
    assert seats_taken(study) == 2


@pytest.mark.parametrize(("minutes", "limit"), [(1, 6), (20, 51), (30, 73)])
def test_the_time_limit_is_at_least_prolifics(minutes, limit):
    study = make_study(minutes=minutes)

    assert flow.time_limit(study) == timedelta(minutes=limit)


def test_a_step_ahead_is_refused(study):
    annotator = services.enter(study=study, pid="p1")

    with pytest.raises(WrongStep, match="not yet screened"):
        services.finish_instructions(annotator_id=annotator.pk)
    with pytest.raises(WrongStep):
        services.complete(annotator_id=annotator.pk)

    assert annotator.assignments.count() == 0
