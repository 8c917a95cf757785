"""Group places and seats stay in step: full groups mean full items, whoever leaves."""

from collections import Counter

import pytest

from annotation import services
from annotation.models import Annotator
from annotation.researchers.workbench import annotator_needs
from annotation.seats.capacity import forecast_of
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from studies.models import Item, Study
from tests.factories import answer_all, answer_item, make_items, make_study, take_part, walk_in

pytestmark = pytest.mark.django_db

GENDER = QuotaQuestion("gender", "Gender?", {"woman": "Woman", "man": "Man"})


def make_grouped(*, each: int, per_person: int, items: int, seats: int) -> Study:
    """Two groups of `each` places that are just enough for every seat."""
    study = make_study(items_per_annotator=per_person, annotations_per_item=seats)
    make_items(study, items)
    set_quotas(
        study_id=study.pk,
        questions=[GENDER],
        groups=[Quota(each, {"gender": "woman"}), Quota(each, {"gender": "man"})],
    )
    return study


def open_places(study: Study) -> Counter[str]:
    return Counter({group.criteria["gender"]: group.open for group in study.quota_groups.all()})


def short_items(study: Study) -> int:
    return sum(item.seats_needed - item.answered for item in Item.objects.filter(study=study))


def test_a_surplus_person_uses_up_no_place_that_the_open_items_need():
    """Seven men and three women come to five places each; two men with places return."""
    study = make_grouped(each=5, per_person=4, items=20, seats=2)
    men = [take_part(study, gender="man") for _ in range(7)]
    for _ in range(3):
        take_part(study, gender="woman")

    for leaver in men[:2]:
        services.mark_returned(annotator_id=leaver.pk)
    for _ in range(2):
        take_part(study, gender="woman")
    for gender, places in open_places(study).items():
        for _ in range(places):
            take_part(study, gender=gender)

    assert set(open_places(study).values()) == {0}
    assert short_items(study) == 0


def test_skewed_arrivals_show_immediately_with_the_missing_group():
    """Men and women in the ratio of four to one come to five places each."""
    study = make_grouped(each=5, per_person=4, items=20, seats=2)
    for number in range(7):
        take_part(study, gender="woman" if number % 5 == 4 else "man")

    assert forecast_of(study).warning.startswith(
        "1 annotator came for full groups: their answers are not counted. Places are open only for "
        "gender: woman (4). Recruit only these groups"
    )
    words = " ".join(need.sentence for need in annotator_needs(study))
    assert "1 of 2 quota groups is full. 4 places are open for gender: woman (4)." in words
    for _ in range(4):
        take_part(study, gender="woman")
    assert forecast_of(study).warning == ""


def test_an_annotator_beyond_a_group_stands_in_for_an_active_one():
    study = make_grouped(each=2, per_person=4, items=8, seats=2)
    first, second = walk_in(study, gender="man"), walk_in(study, gender="man")

    stand_ins = [walk_in(study, gender="man") for _ in range(3)]

    assert [showings(a) for a in stand_ins] == [showings(a) for a in (first, second, first)]


def test_a_stand_in_takes_the_leavers_place_and_every_seat():
    study = make_grouped(each=2, per_person=4, items=8, seats=2)
    leaver = walk_in(study, gender="man")
    take_part(study, gender="man")
    stand_in = walk_in(study, gender="man")
    first = stand_in.assignments.get(position=1)
    answer_item(first, certainty=50)

    services.mark_returned(annotator_id=leaver.pk)

    first.refresh_from_db()
    assert (first.is_surplus, first.annotation.standing) == (False, "counted")
    answer_all(stand_in)
    assert not services.complete(annotator_id=stand_in.pk).works_surplus
    for _ in range(2):
        take_part(study, gender="woman")
    assert set(open_places(study).values()) == {0}
    assert short_items(study) == 0


def showings(annotator: Annotator) -> dict[int, str]:
    return dict(annotator.assignments.values_list("item", "shown_first"))
