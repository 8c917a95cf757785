"""More seats and places while a study runs: what it takes is shown first, nothing is lowered."""

import pytest

from annotation.errors import PlacesError
from annotation.models import Annotation, QuotaGroup
from annotation.seats.capacity import places_of
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from annotation.services.capacity import raise_places
from tests.factories import answer_all, make_items, make_study, sign_in, take_part, walk_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_study(items_per_annotator=5, annotations_per_item=2, reward=450)
    make_items(study, 10)
    return study


@pytest.fixture
def groups(study):
    gender = QuotaQuestion("gender", "Gender?", {"woman": "Woman", "man": "Man"})
    set_quotas(
        study_id=study.pk,
        questions=[gender],
        groups=[
            Quota(2, {"gender": "woman"}),
            Quota(1, {"gender": "man"}),
            Quota(1),
        ],
    )
    return list(QuotaGroup.objects.filter(study=study))


@pytest.fixture
def editor(study):
    return sign_in(study)


def address(study):
    return f"/studies/{study.slug}/people/places/"


def test_open_seats_need_people_and_pay(study):
    answer_all(walk_in(study))

    now = places_of(study)

    assert (now.seats, now.taken, now.open, now.people, now.pay) == (20, 5, 15, 3, "$13.50")
    then = places_of(study, annotations_per_item=3)
    assert (then.seats, then.open, then.people, then.pay) == (30, 25, 5, "$22.50")


def test_nobody_answers_an_item_twice_so_few_items_need_many_people():
    study = make_study(items_per_annotator=30, annotations_per_item=3)
    make_items(study, 7)

    assert places_of(study).people == 3
    assert places_of(study, annotations_per_item=5).people == 5


def test_raising_opens_seats_at_every_item_and_keeps_existing_ones(study):
    for _ in range(4):
        take_part(study)
    assert walk_in(study).assignments.filter(is_surplus=False).count() == 0

    raise_places(study_id=study.pk, version=study.version, annotations_per_item=3, targets={})

    assert set(study.all_items.values_list("seats_needed", "seats_taken")) == {(3, 2)}
    assert Annotation.objects.filter(standing="counted").count() == 20
    assert walk_in(study).assignments.filter(is_surplus=False).count() == 5
    assert study.log.get(event="seats added").detail == {"before": 2, "after": 3}


def test_answers_that_were_surplus_take_the_seats_that_are_opened(study):
    for _ in range(5):
        annotator = take_part(study)
    assert annotator.assignments.filter(annotation__standing="surplus").count() == 5

    raise_places(study_id=study.pk, version=study.version, annotations_per_item=3, targets={})

    assert annotator.assignments.filter(annotation__standing="counted").count() == 5
    assert places_of(study).open == 5


def test_a_larger_group_admits_annotators_beyond_it(study, groups):
    for _ in range(2):
        annotator = take_part(study, gender="man")
    assert annotator.works_surplus

    raise_places(
        study_id=study.pk,
        version=study.version,
        annotations_per_item=2,
        targets={groups[1].pk: 2},
    )

    groups[1].refresh_from_db()
    assert (groups[1].reserved, groups[1].completed) == (0, 2)
    assert annotator.assignments.filter(annotation__standing="counted").count() == 5


def test_a_group_gets_more_places_and_no_group_fewer(study, groups):
    woman, man, _ = groups

    raise_places(
        study_id=study.pk,
        version=study.version,
        annotations_per_item=2,
        targets={woman.pk: 4, man.pk: 1},
    )

    woman.refresh_from_db()
    assert woman.target == 4
    assert study.log.filter(event="group's places").count() == 1
    with pytest.raises(PlacesError, match="cannot be lowered"):
        raise_places(
            study_id=study.pk, version=study.version, annotations_per_item=2, targets={woman.pk: 3}
        )


def test_nothing_is_lowered_and_all_or_nothing_is_stored(study, groups):
    with pytest.raises(PlacesError, match="seats cannot be removed"):
        raise_places(study_id=study.pk, version=study.version, annotations_per_item=1, targets={})
    with pytest.raises(PlacesError, match="was deleted"):
        raise_places(
            study_id=study.pk,
            version=study.version,
            annotations_per_item=5,
            targets={groups[0].pk: 9, 0: 9},
        )

    study.refresh_from_db()
    groups[0].refresh_from_db()
    assert (study.annotations_per_item, groups[0].target) == (2, 2)


def test_outdated_numbers_must_be_checked_again(study):
    read = study.version
    raise_places(study_id=study.pk, version=read, annotations_per_item=3, targets={})

    with pytest.raises(PlacesError, match="Someone else changed this study"):
        raise_places(study_id=study.pk, version=read, annotations_per_item=4, targets={})


def test_the_page_shows_the_cost_first_and_opens_the_places_when_sent_again(study, groups, editor):
    asked = {"annotations_per_item": "3", **{f"target-{g.pk}": str(g.target) for g in groups}}

    shown = editor.post(address(study), asked).content.decode()
    study.refresh_from_db()
    assert study.annotations_per_item == 2
    assert "$27.00" in shown
    assert "10 seats stay open even if every remaining place is used" in shown
    assert "2 more places are needed (2 in the groups), which costs $9.00 in pay" in shown
    done = editor.post(address(study), {**asked, "version": str(study.version), "sure": "yes"})

    study.refresh_from_db()
    assert done.status_code == 302
    assert study.annotations_per_item == 3


@pytest.mark.parametrize("typed", ["2", "", "abc", "1001"])
def test_a_number_that_opens_nothing_is_refused_in_words(study, editor, typed):
    response = editor.post(address(study), {"annotations_per_item": typed})

    assert response.status_code == 422
    assert "There is a problem" in response.content.decode()
