import itertools
from collections import Counter

import pytest

from judging.models import JudgeRun
from judging.runs.row_creation import create_judgments, shown_first
from studies.models import Item
from tests.factories import make_item, make_persona, make_study
from tests.judging.conftest import make_judge


def items(count, *, truth=None, start=0):
    return [
        Item(pk=n + 1, key=f"i{n}", first_person=truth or ("r1", "r2", "tie", "")[n % 4])
        for n in range(start, start + count)
    ]


def draw(which, seed=1, drawn=()):
    return shown_first(which, orders="random", seed=seed, drawn=drawn)


@pytest.mark.parametrize("truth", ["r1", "r2", None])
@pytest.mark.parametrize("seed", range(5))
def test_the_right_answer_is_side_a_in_half_of_the_items(truth, seed):
    which = items(100, truth=truth)

    chosen = draw(which, seed)

    known = [item for item in which if item.first_person in ("r1", "r2")]
    right_first = sum(chosen[item.pk] == [item.first_person] for item in known)
    assert abs(right_first - len(known) / 2) <= 0.5


def test_items_without_a_truth_show_each_response_first_in_half():
    which = items(50, truth="tie")

    assert Counter(side for (side,) in draw(which).values()) == {"r1": 25, "r2": 25}


def test_the_same_seed_draws_the_same_and_another_seed_otherwise():
    which = items(60)

    assert draw(which, 3) == draw(list(reversed(which)), 3)
    assert draw(which, 3) != draw(which, 4)


def test_items_that_come_later_keep_the_balance():
    first, later = items(31, truth="r1"), items(32, truth="r1", start=31)
    drawn = [(item, draw(first)[item.pk][0]) for item in first]

    chosen = draw(later, drawn=drawn)

    sides = Counter([side for _, side in drawn] + [side for (side,) in chosen.values()])
    assert abs(sides["r1"] - sides["r2"]) <= 1


def test_the_order_within_the_balance_cannot_be_guessed_from_the_key():
    which = items(200, truth="r1")

    sides = [draw(which)[item.pk][0] for item in which]

    alternations = sum(a != b for a, b in itertools.pairwise(sides))
    assert 70 < alternations < 130


@pytest.mark.parametrize(
    ("orders", "sides"), [("both", ["r1", "r2"]), ("r1_first", ["r1"]), ("r2_first", ["r2"])]
)
def test_a_chosen_order_is_kept_except_where_the_item_fixes_it(orders, sides):
    free, fixed = Item(pk=1, key="a"), Item(pk=2, key="b", fixed_first="r2")

    assert shown_first([free, fixed], orders=orders, seed=1) == {1: sides, 2: ["r2"]}


def test_a_fixed_order_is_exempt_from_the_draw_and_its_balance():
    fixed = [
        Item(pk=n, key=f"f{n}", first_person="r1", fixed_first="r1") for n in range(1000, 1020)
    ]
    which = items(20, truth="r1")

    chosen = draw(which + fixed, drawn=[(item, "r1") for item in fixed])

    assert all(chosen[item.pk] == ["r1"] for item in fixed)
    assert sum(chosen[item.pk] == ["r1"] for item in which) == 10


@pytest.mark.django_db
def test_items_of_one_persona_are_asked_together_and_orders_stay_those_that_were_drawn():
    study = make_study()
    personas = [make_persona(study=study) for _ in range(3)]
    made = [make_item(study=study, persona=personas[n % 3], key=f"k{n}") for n in range(9)]
    run, _ = JudgeRun.objects.get_or_create(
        study=study, judge=make_judge(base_url="http://a/v1"), seed=7, key="k"
    )

    create_judgments(run, None)

    rows = list(run.judgments.order_by("pk").values_list("item__key", "shown_first"))
    assert [key for key, _ in rows] == ["k0", "k3", "k6", "k1", "k4", "k7", "k2", "k5", "k8"]
    assert dict(rows) == {item.key: draw(made, seed=7)[item.pk][0] for item in made}
