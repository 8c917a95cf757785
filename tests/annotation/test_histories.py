"""Whatever happens, in whatever order: no item above n, no seat lost, every sum right."""

import contextlib
from collections import Counter
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import example, given, settings
from hypothesis import strategies as st

from annotation import services
from annotation.errors import AnnotationError
from annotation.models import Annotation, Annotator, Assignment
from annotation.seats import flow
from annotation.seats.capacity import forecast_of
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from annotation.services.capacity import raise_places
from studies.models import Study
from tests.factories import answer_all, answer_item, make_items, make_study, take_part, walk_in
from tests.sampling import examples

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ITEMS, SEATS, MOST_SEATS, EACH = 6, 2, 4, 3
GENDER = QuotaQuestion("gender", "Gender?", {"woman": "Woman", "man": "Man"})

people = st.integers(0, 9)
events = st.lists(
    st.one_of(
        st.tuples(st.just("arrive"), st.sampled_from(["woman", "man", "prefer_not_to_say"])),
        st.tuples(st.just("answer"), people),
        st.tuples(st.just("answer_all"), people),
        st.tuples(st.just("raise"), st.just(0)),
        st.tuples(
            st.sampled_from(
                [
                    "complete",
                    "withdraw",
                    "mark_returned",
                    "time_out",
                    "reject",
                    "reinstate",
                    "resume",
                    "expire",
                    "exclude",
                    "exclude_and_reopen",
                    "include",
                    "skip",
                    "revise",
                    "extend",
                    "draft",
                ]
            ),
            people,
        ),
    ),
    min_size=5,
    max_size=40,
)


def happen(study: Study, event: str, argument: int | str) -> None:
    if event == "arrive":
        walk_in(study, gender=str(argument))
        return
    if event == "raise":
        study.refresh_from_db()
        more = min(study.annotations_per_item + 1, MOST_SEATS)
        raise_places(
            study_id=study.pk, version=study.version, annotations_per_item=more, targets={}
        )
        return
    everybody = list(study.annotators.order_by("pk"))
    if not everybody:
        return
    annotator = everybody[int(argument) % len(everybody)]
    if event == "answer":
        open_one = annotator.assignments.filter(annotation=None).first()
        if open_one:
            answer_item(open_one, certainty=50)
    elif event == "revise":
        if answered := annotator.assignments.exclude(annotation=None).last():
            answer_item(answered, choice="r2", certainty=20)
    elif event == "skip":
        if open_one := annotator.assignments.filter(annotation=None).last():
            services.skip_item(annotator_id=annotator.pk, assignment_id=open_one.pk)
    elif event == "draft":
        if open_one := annotator.assignments.filter(annotation=None, draft=None).first():
            services.save_draft(
                annotator_id=annotator.pk, assignment_id=open_one.pk, stamp="0.0", choice="r1"
            )
    elif event == "answer_all":
        answer_all(annotator)
    elif event == "expire":
        past = timezone.now() - timedelta(seconds=1)
        study.annotators.filter(pk=annotator.pk, expires_at__isnull=False).update(expires_at=past)
        services.release_expired(study_id=study.pk)
    elif event in ("exclude", "exclude_and_reopen"):
        services.exclude(
            annotator_id=annotator.pk, reason="test", reopen_seats=event == "exclude_and_reopen"
        )
    else:
        getattr(services, event)(annotator_id=annotator.pk)


def check(study: Study) -> None:
    """Everything that must be true at any moment."""
    assignments = list(
        Assignment.objects.filter(annotator__study=study).select_related("annotator", "annotation")
    )
    holding = [a for a in assignments if a.state != "released" and not a.is_surplus]
    seats = Counter(a.item_id for a in holding)
    standings = {a.pk: a.annotation.standing for a in assignments if hasattr(a, "annotation")}
    counted = Counter(a.item_id for a in assignments if standings.get(a.pk) == "counted")
    open_seats = {i.pk: i.seats_needed - i.seats_taken for i in study.all_items.all()}
    for item in study.all_items.all():
        assert item.seats_taken == seats[item.pk] <= item.seats_needed
        assert item.answered == counted[item.pk]
    for a in assignments:
        expected = {
            "reserved": {None},
            "answered": {"surplus" if a.is_surplus else "counted"},
            "released": {None, "released", "withdrawn"},
            "skipped": {None},
        }[a.state]
        assert standings.get(a.pk) in expected
        if a.annotator.state == "withdrew":
            assert standings.get(a.pk) in (None, "withdrawn")
        if a.annotator.works_surplus:
            assert a.state == "released" or a.is_surplus
        if a.annotator.state not in {*flow.ACTIVE, "completed"}:
            assert a.state in ("released", "skipped")
        # A seat is open only where no paid answer waits for it.
        if standings.get(a.pk) == "surplus" and a.annotator.state == "completed":
            if not a.annotator.works_surplus and a.annotator.excluded_at is None:
                assert open_seats[a.item_id] == 0
    per_person = Counter(a.annotator_id for a in assignments)
    assert set(per_person.values()) <= {EACH}
    for annotator in study.annotators.all():
        assert (annotator.expires_at is not None) == (annotator.state in flow.ACTIVE)
        assert (annotator.ended_at is None) == (annotator.state in flow.ACTIVE)
        if annotator.state not in {*flow.ACTIVE, "completed"}:
            assert annotator.quota == ""
    for group in study.quota_groups.all():
        held = Counter(group.annotators.values_list("quota", flat=True))
        assert (group.reserved, group.completed) == (held["reserved"], held["completed"])
        assert group.reserved + group.completed <= group.target


def live(study: Study, history: list[tuple[str, int | str]]) -> None:
    for event, argument in history:
        before = forecast_of(study).missing
        with contextlib.suppress(AnnotationError):
            happen(study, event, argument)
        check(study)
        # Only who skips an item, and who asks for more answers, makes places too few.
        if event not in ("skip", "raise"):
            assert forecast_of(study).missing <= before


def end_everybody(study: Study) -> None:
    for annotator in study.annotators.filter(state__in=flow.ACTIVE):
        services.time_out(annotator_id=annotator.pk)


def fill_groups(study: Study) -> None:
    """Let somebody new work on every place that is open."""
    for group in study.quota_groups.all():
        for _ in range(group.open):
            take_part(study, gender=group.criteria.get("gender", "prefer_not_to_say"))


# Somebody skips, loses their seats to others, comes back, and finishes after all.
_RESUMED = [
    ("arrive", "woman"),
    ("skip", 0),
    ("answer", 0),
    ("time_out", 0),
    ("arrive", "woman"),
    ("answer_all", 1),
    ("resume", 0),
    ("raise", 0),
    ("answer_all", 0),
    ("complete", 0),
    ("complete", 1),
    ("exclude_and_reopen", 0),
    ("include", 0),
    ("withdraw", 1),
]
# Four people hold all seats; the fifth one's answers wait for a seat that somebody skips or leaves.
_WAITED = [
    *[("arrive", "woman")] * 5,
    ("answer_all", 4),
    ("complete", 4),
    ("skip", 0),
    ("skip", 0),
    ("skip", 0),
    ("time_out", 1),
]


# An exclusion brings no withdrawn answer back.
_WITHDRAWN = [
    ("arrive", "woman"),
    ("answer_all", 0),
    ("withdraw", 0),
    ("exclude_and_reopen", 0),
]
# Who has left skips an item and answers it after all.
_LATE_SKIP = [("arrive", "woman"), ("mark_returned", 0), ("skip", 0), ("answer_all", 0)]


# A second man has done other items than the first one, who leaves.
_STOOD_BY = [
    ("arrive", "man"),
    ("answer_all", 0),
    ("arrive", "man"),
    ("answer_all", 1),
    ("complete", 1),
    ("arrive", "woman"),
    ("arrive", "woman"),
    ("withdraw", 0),
]
# A man comes back after others have taken a part of his items.
_CAME_BACK = [
    ("arrive", "man"),
    ("answer", 0),
    ("time_out", 0),
    ("arrive", "woman"),
    ("answer_all", 1),
    ("arrive", "woman"),
    ("resume", 0),
    ("answer_all", 0),
    ("complete", 0),
]


def make_grouped() -> Study:
    """Four places in three groups, just enough for every seat."""
    study = make_study(items_per_annotator=EACH, annotations_per_item=SEATS)
    make_items(study, ITEMS)
    set_quotas(
        study_id=study.pk,
        questions=[GENDER],
        groups=[
            Quota(2, {"gender": "woman"}),
            Quota(1, {"gender": "man"}),
            Quota(1),
        ],
    )
    return study


@pytest.mark.nightly
@settings(max_examples=examples(2, every=60))
@given(events)
@example(_RESUMED)
@example(_LATE_SKIP)
def test_counters_and_rows_agree_after_every_event(history):
    with transaction.atomic():
        study = make_grouped()

        live(study, history)

        transaction.set_rollback(True)


@pytest.mark.nightly
@settings(max_examples=examples(1, every=20))
@given(events)
@example(_STOOD_BY)
@example(_CAME_BACK)
def test_full_groups_mean_full_items_or_a_count_of_missing_places(history):
    with transaction.atomic():
        study = make_grouped()
        live(study, history)

        end_everybody(study)
        missing = forecast_of(study).missing
        fill_groups(study)

        study.refresh_from_db()
        forecast = forecast_of(study)
        assert forecast.room == 0
        assert forecast.missing == missing
        assert forecast.unfilled == forecast.open == short_of(study)
        assert (missing == 0) == (forecast.open == 0)
        if not {"skip", "raise"} & {event for event, _ in history}:
            assert missing == 0
        # So many more people, in whichever group, fill every item.
        group = study.quota_groups.first()
        raise_places(
            study_id=study.pk,
            version=study.version,
            targets={group.pk: group.target + missing},
            annotations_per_item=study.annotations_per_item,
        )
        fill_groups(study)
        assert short_of(study) == 0

        transaction.set_rollback(True)


def short_of(study: Study) -> int:
    """How many answers are missing at all items together."""
    return sum(item.seats_needed - item.answered for item in study.all_items.all())


@settings(max_examples=examples(1, every=20))
@given(events)
@example(_WAITED)
@example(_WITHDRAWN)
def test_after_any_history_every_item_can_get_exactly_n_answers(history):
    with transaction.atomic():
        study = make_study(items_per_annotator=EACH, annotations_per_item=SEATS)
        make_items(study, ITEMS)
        live(study, history)

        end_everybody(study)
        # Enough for every seat, if each arrival takes what is open.
        study.refresh_from_db()
        seats = study.annotations_per_item
        for _ in range(ITEMS * seats // EACH + 1):
            take_part(study)

        answers = Counter(
            Annotation.objects.filter(
                standing="counted", assignment__annotator__study=study
            ).values_list("assignment__item", flat=True)
        )
        assert set(answers.values()) == {seats}
        assert len(answers) == ITEMS
        assert study.annotators.filter(state=Annotator.State.ANNOTATING).count() == 0

        transaction.set_rollback(True)
