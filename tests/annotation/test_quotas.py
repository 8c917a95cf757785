"""Quota places: reserved under the lock, released with the seats, never above the target."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from annotation import services
from annotation.errors import InvalidAnswer, QuotaError
from annotation.models import Annotator
from annotation.seats.quotas import Quota, set_quotas
from studies.models import Study
from studies.services.studies import lock_study
from tests.annotation.grids import GENDER, POLITICS, make_grid
from tests.factories import answer_all, finish, make_annotator, make_study, take_part, walk_in
from tests.together import run_together

pytestmark = pytest.mark.django_db


def taken(study: Study) -> dict[str, tuple[int, int]]:
    return {str(c): (c.reserved, c.completed) for c in study.quota_groups.all()}


@pytest.mark.parametrize("gender", ["prefer_not_to_say", "woman"])
def test_annotators_who_match_no_group_are_everyone_else(gender):
    study = make_grid()

    annotator = walk_in(study, gender=gender, politics="prefer_not_to_say")

    assert annotator.quota_group.is_everyone_else
    assert taken(study)["everyone else"] == (1, 0)


def test_on_prolific_a_full_group_gets_surplus_work_without_seats():
    study = make_grid()
    walk_in(study, gender="man", politics="democrat")

    second = walk_in(study, gender="man", politics="democrat")
    ended = finish(second)

    assert ended.state == Annotator.State.COMPLETED
    assert second.works_surplus
    assert set(second.assignments.values_list("is_surplus", "annotation__standing")) == {
        (True, "surplus")
    }
    assert taken(study)["gender: man, politics: democrat"] == (1, 0)
    assert sum(study.all_items.values_list("seats_taken", flat=True)) == 2


def test_leaving_surplus_work_frees_no_seat():
    study = make_grid()
    holder = walk_in(study, gender="man", politics="democrat")
    answer_all(holder)
    surplus = [walk_in(study, gender="man", politics="democrat") for _ in range(3)]
    for annotator in surplus:
        answer_all(annotator)

    for annotator in surplus:
        services.withdraw(annotator_id=annotator.pk)

    held = study.all_items.filter(assignments__annotator=holder)
    assert set(held.values_list("seats_taken", "answered")) == {(1, 1)}


@pytest.mark.parametrize(
    ("leave", "is_done"),
    [
        (services.withdraw, False),
        (services.withdraw, True),
        (services.time_out, False),
        (services.mark_returned, False),
    ],
)
def test_leaving_frees_the_place(leave, is_done):
    study = make_grid()
    annotator = walk_in(study, gender="man", politics="democrat")
    if is_done:
        finish(annotator)

    leave(annotator_id=annotator.pk)

    assert taken(study)["gender: man, politics: democrat"] == (0, 0)
    assert not walk_in(study, gender="man", politics="democrat").works_surplus


def test_excluding_somebody_reopens_the_place_only_with_the_seats():
    study = make_grid()
    annotator = take_part(study, gender="man", politics="democrat")
    group = "gender: man, politics: democrat"

    services.exclude(annotator_id=annotator.pk, reason="test")
    kept = taken(study)[group]
    services.include(annotator_id=annotator.pk)
    services.exclude(annotator_id=annotator.pk, reason="test", reopen_seats=True)
    reopened = taken(study)[group]
    services.include(annotator_id=annotator.pk)

    assert (kept, reopened, taken(study)[group]) == ((0, 1), (0, 0), (0, 1))


def test_returning_to_a_full_group_means_surplus_work():
    study = make_grid()
    late = walk_in(study, gender="man", politics="democrat")
    answer_all(late)
    services.time_out(annotator_id=late.pk)
    walk_in(study, gender="man", politics="democrat")

    services.complete(annotator_id=late.pk)

    late.refresh_from_db()
    assert late.works_surplus
    assert set(late.assignments.values_list("annotation__standing", flat=True)) == {"surplus"}
    assert taken(study)["gender: man, politics: democrat"] == (1, 0)


@pytest.mark.parametrize(
    "demographics", [{}, {"gender": "woman"}, {"gender": "x", "politics": "y"}]
)
def test_an_answer_that_is_not_offered_is_refused_and_reserves_nothing(demographics):
    study = make_grid()
    annotator = services.enter(study=study, pid="p1")
    services.consent(annotator_id=annotator.pk, version="v1")

    with pytest.raises(InvalidAnswer):
        services.record_demographics(annotator_id=annotator.pk, demographics=demographics)

    annotator.refresh_from_db()
    assert (annotator.state, annotator.demographics) == ("consented", {})
    assert sum(c.reserved for c in study.quota_groups.all()) == 0


def test_answers_to_unknown_questions_are_not_stored():
    study = make_grid()

    annotator = walk_in(study, gender="man", politics="democrat", income="high")

    assert annotator.demographics == {"gender": "man", "politics": "democrat"}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_simultaneous_arrivals_never_overfill_a_group():
    study = make_grid(target=3)

    errors = run_together(
        lambda n: walk_in(study, f"p{n}", gender="man", politics="democrat"), list(range(12))
    )

    assert errors == []
    assert taken(study)["gender: man, politics: democrat"] == (3, 0)
    assert study.annotators.filter(works_surplus=True).count() == 9


def test_who_gets_a_place_that_becomes_free_with_their_last_step_gets_seats_too():
    study = make_grid(target=1)
    group = {"gender": "man", "politics": "democrat"}
    holder = walk_in(study, **group)
    late = services.enter(study=study, pid="late", session_id="s-late")
    services.consent(annotator_id=late.pk, version="v1")
    late = services.record_demographics(annotator_id=late.pk, demographics=group)
    assert late.works_surplus
    Annotator.objects.filter(pk=holder.pk).update(expires_at=timezone.now() - timedelta(hours=1))

    late = services.finish_instructions(annotator_id=late.pk)

    assert (late.works_surplus, late.quota) == (False, Annotator.Quota.RESERVED)
    assert not late.assignments.filter(is_surplus=True).exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_agreeing_and_commenting_do_not_wait_for_those_who_take_places():
    study = make_grid(target=3)
    arrived = make_annotator(study=study)
    working = walk_in(study, gender="man", politics="democrat")

    def agree_and_comment(_: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '5s'")
        services.consent(annotator_id=arrived.pk, version="v1")
        services.leave_feedback(annotator_id=working.pk, text="Fine.")

    with transaction.atomic():
        lock_study(study.pk)
        assert run_together(agree_and_comment, [1]) == []

    arrived.refresh_from_db()
    assert arrived.state == Annotator.State.CONSENTED


# Setting up


def test_a_target_may_grow_while_people_work_but_not_fall_below_the_places_taken():
    study = make_grid()
    walk_in(study, gender="man", politics="democrat")

    def retarget(target: int) -> None:
        groups = [
            Quota(
                target if c.criteria == {"gender": "man", "politics": "democrat"} else c.target,
                c.criteria,
            )
            for c in study.quota_groups.all()
        ]
        set_quotas(study_id=study.pk, questions=[GENDER, POLITICS], groups=groups)

    retarget(5)
    with pytest.raises(QuotaError, match="has 1 taken places"):
        retarget(0)

    assert study.quota_groups.get(reserved=1).target == 5


def test_groups_are_fixed_once_somebody_has_entered():
    study = make_grid()
    walk_in(study, gender="man", politics="democrat")

    with pytest.raises(QuotaError, match="fixed"):
        set_quotas(study_id=study.pk, questions=[GENDER], groups=[Quota(1, {"gender": "man"})])

    assert study.quota_groups.count() == 5


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([Quota(1, {"age": "x"})], "no question has that key"),
        ([Quota(1, {"gender": "x"})], "offers: woman, man"),
        ([Quota(1), Quota(2)], "same criteria"),
    ],
)
def test_a_plan_that_does_not_fit_together_is_refused(groups, message):
    study = make_study()

    with pytest.raises(QuotaError, match=message):
        set_quotas(study_id=study.pk, questions=[GENDER], groups=groups)

    assert study.demographic_questions.count() == 0
