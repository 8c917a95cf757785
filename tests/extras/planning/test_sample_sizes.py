"""Closed forms of how many items and people a study needs."""

from decimal import Decimal

import pytest

from analysis.stats import mcnemar_items
from extras.planning.stats import (
    alpha_sd,
    annotators_needed,
    equivalence_items,
    recruiting_cost,
    wilson_items,
)
from tests.analysis.stats.reference import vector

PLANNING, PRECISION = vector("planning"), vector("alpha_precision")


def numbers_of(key: str) -> list[float]:
    return [float(part.split("=")[1]) for part in key.split(",")]


@pytest.mark.parametrize("key", PLANNING["n_items_wilson_halfwidth"])
def test_items_for_a_narrow_wilson_interval(key):
    assert wilson_items(*numbers_of(key)) == PLANNING["n_items_wilson_halfwidth"][key]


@pytest.mark.parametrize("key", PLANNING["n_mcnemar_connor"])
def test_items_for_mcnemar_follow_connor(key):
    assert mcnemar_items(*numbers_of(key)) == PLANNING["n_mcnemar_connor"][key]


def test_no_number_of_items_finds_a_difference_that_is_not_there():
    assert mcnemar_items(0.2, 0.2) is None


@pytest.mark.parametrize("key", PLANNING["n_tost_paired"])
def test_items_for_equivalence(key):
    assert equivalence_items(*numbers_of(key)) == PLANNING["n_tost_paired"][key]


@pytest.mark.parametrize("key", PRECISION)
def test_the_spread_of_alpha_is_the_simulated_one(key):
    n_items, answers, alpha = numbers_of(key)

    found = alpha_sd(int(n_items), int(answers), alpha)

    # The simulated spread comes from about 400 studies.
    assert found == pytest.approx(PRECISION[key][1], rel=0.1)


def test_the_papers_design_costs_135_dollars_before_fees():
    paper = PLANNING["cost"]["paper_design"]

    people = annotators_needed(300, 3, paper["per_annotator"])
    cost = recruiting_cost(people, round(paper["reward_each_at_20_min"] * 100))

    assert people == paper["annotators"]
    assert cost.total == paper["at_20_min"] * 100
    assert (cost.fee, cost.tax) == (0, 0)


def test_tax_is_due_on_the_fee_alone():
    cost = recruiting_cost(10, 500, fee=Decimal("0.333"), tax=Decimal("0.2"))

    assert (cost.rewards, cost.fee, cost.tax, cost.total) == (5000, 1665, 333, 6998)


def test_dropouts_are_invited_on_top_without_a_rounding_error():
    assert annotators_needed(300, 3, 30, dropout=0.1) == 33
    assert annotators_needed(301, 3, 30) == 31
