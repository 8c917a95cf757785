"""What the next money buys: predicted widths against made purchases, prices, page and command."""

from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy.special import expit

from analysis.errors import BadParameters
from extras.planning.assumptions import Assumptions
from extras.planning.next_money import next_purchases, summary_of
from extras.planning.stats.next_purchase import (
    BOTH_ORDERS,
    ITEMS,
    PURCHASES,
    SECOND_JUDGE,
    JudgeTruth,
    StudyDesign,
    bought,
    expected_half_width,
    half_width_of,
    majority_of,
)
from extras.planning.stats.simulated_studies import Effects, random_layout
from extras.planning.stats.variance_components import PilotAnswers, variance_components
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_items, make_persona, make_study, stored_at_once
from tests.judging.conftest import make_judge

SDS, OVERLAP, OWN, PEOPLE, JUDGE = (1.0, 0.8, 0.4, 0.3), 0.5, 1.2, 0.6, 0.8
EACH = {"items": 60, "answers": 3, "people": 8, "per_annotator": 25}


def drawn(design, base, seed):
    """One world's answers and judgments; those of the base study are the same in every design."""

    def both(draw, now, then):
        return np.concatenate([draw(now), draw(then - now)])

    rng = np.random.default_rng(seed)
    item, annotator, persona, question = (sd * rng.standard_normal(4_000) for sd in SDS)
    hard = item[: design.n_items] + persona[design.persona] + question[design.question]
    luck = both(rng.random, base.item.size, design.item.size)
    right = luck < expit(PEOPLE + hard[design.item] + annotator[design.annotator])
    share = np.zeros(design.n_items)
    for judge in range(design.judges):
        rng = np.random.default_rng((seed, judge + 1))
        # What is hard for this judge alone has the same structure, as in `StudyModel`.
        own = (SDS[0] * rng.standard_normal(4_000))[: design.n_items]
        own += (SDS[2] * rng.standard_normal(4_000))[design.persona]
        own += (SDS[3] * rng.standard_normal(4_000))[design.question]
        own *= OWN / np.linalg.norm([SDS[0], SDS[2], SDS[3]])
        readings = [rng.random(4_000)[: design.n_items] for _ in range(design.readings)]
        share += np.mean([luck < expit(JUDGE + OVERLAP * hard + own) for luck in readings], axis=0)
    return right.astype(np.float64), share / design.judges


def gaps(design, base, seed):
    right, share = drawn(design, base, seed)
    return share - majority_of(right[None], design)[0]


def base_study(rng, n=150):
    at = np.arange(n)
    seats = random_layout(at % 15, at // 15, n_items=n, answers=3, per_annotator=25, rng=rng)
    return StudyDesign.of(seats)


@cache
def planted():
    """What was planted, as accuracies and variances of many readings."""
    base = base_study(np.random.default_rng(3))
    worlds = [drawn(replace(base, readings=2), base, seed) for seed in range(300)]
    right = float(np.mean([right.mean() for right, _ in worlds]))
    share = np.stack([share for _, share in worlds])
    reading = float((share * (1 - share) * 2).mean())
    return right, Effects(*SDS, OVERLAP), JudgeTruth(float(share.mean()), reading)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("purchase", ["", *PURCHASES])
def test_the_expected_width_is_that_of_studies_drawn_otherwise(purchase):
    rng = np.random.default_rng(3)
    base = base_study(rng)
    design = bought(base, purchase, **EACH, rng=rng) if purchase else base

    accuracy, effects, judge = planted()
    expected = expected_half_width(accuracy, effects, judge, design, n_draws=100, rng=rng)

    found = np.mean([half_width_of(gaps(design, base, seed), design) for seed in range(60)])
    assert expected.value == pytest.approx(found, rel=0.1)


@pytest.mark.nightly
def test_predictions_from_a_study_alone_are_within_a_tenth_of_what_purchases_bring():
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        base = base_study(rng)
        right, share = drawn(base, base, seed)
        codes = base.item, base.annotator, base.persona, base.question
        pilot = PilotAnswers(right.astype(int), *codes, share.astype(int))
        estimated = variance_components(pilot, n_draws=2, rng=rng)
        truth = estimated.accuracy, estimated.effects(Effects()), JudgeTruth(share.mean())
        now = half_width_of(gaps(base, base, seed), base)
        of_model = expected_half_width(*truth, base, rng=rng).value
        designs = [bought(base, purchase, **EACH, rng=rng) for purchase in PURCHASES]
        then = [expected_half_width(*truth, one, rng=rng).value for one in designs]
        brought = [half_width_of(gaps(one, base, seed), one) for one in designs]
        ratios.append([now * one / of_model for one in then] + brought)
    predicted, realised = np.mean(ratios, axis=0).reshape(2, -1)
    assert predicted == pytest.approx(realised, rel=0.1)


def test_more_items_are_of_the_same_personas_or_of_new_ones():
    rng = np.random.default_rng(1)
    base = base_study(rng)
    same = bought(base, "items", **EACH, rng=rng)
    new = bought(base, "personas", **EACH, rng=rng)
    assert same.n_items == new.n_items == 210
    assert (np.unique(same.persona).size, np.unique(same.question).size) == (15, 20)
    assert (np.unique(new.persona).size, np.unique(new.question).size) == (30, 10)
    assert np.array_equal(np.bincount(same.item), np.full(210, 3))


@stored_at_once()
def answered(**fields):
    """A hundred items of twelve personas, with three answers each of twenty people, and a judge."""
    study = make_study(slug="plan", items_per_annotator=30, reward=600, entry="link", **fields)
    rng = np.random.default_rng(1)
    personas = [make_persona(study=study) for _ in range(12)]
    people = [make_rater(study=study) for _ in range(20)]
    judge = make_judge(name="one", price_input=2, price_output=10)
    run = make_run(study=study, judge=judge, setting="standard", orders="r1_first")
    for n in range(100):
        hard = rng.normal()
        item = make_item(study=study, persona=personas[n % 12], first_person="r1")
        for at in range(3):
            is_right = rng.random() < expit(0.6 + hard)
            answer(people[(n + 7 * at) % 20], item, "r1" if is_right else "r2")
        judge_item(run, item, "r1" if rng.random() < expit(0.8 + hard) else "r2")
    return study


@pytest.fixture
def few_draws(monkeypatch):
    monkeypatch.setattr("extras.planning.next_money._DRAWS", 40)


def offers(study, amount=100, **options):
    assumed = Assumptions.of(study, items_there=100)
    result = next_purchases(study, amount, assumed, **options)
    return result, {row["purchase"]: row for row in result["rows"]}


@pytest.mark.nightly
@pytest.mark.django_db
def test_a_study_with_answers_is_extended_from_its_own_interval(few_draws):
    result, rows = offers(answered())
    assert result["is_observed"]
    assert result["basis"].startswith("300 answers of 20 people to 100 items, and one: the effects")
    # 100 dollars are 16 people, each with 30 items of which each needs three.
    assert rows["answers"]["what"] == "16 people, 480 answers"
    assert rows["answers"]["cost"] == 96
    assert 0 < rows[ITEMS]["then"] < rows[ITEMS]["now"] == result["now"]
    assert "Ask about 20 items in both orders first" in rows[BOTH_ORDERS]["reason"]
    assert rows[BOTH_ORDERS]["then"] is None


@pytest.mark.nightly
@pytest.mark.django_db
def test_an_unknown_price_is_said_and_is_no_zero(few_draws, monkeypatch):
    monkeypatch.setattr("extras.planning.next_money.judge_dollars", lambda *which: None)
    study = answered()
    _, rows = offers(study)
    for purchase in (ITEMS, SECOND_JUDGE):
        assert (rows[purchase]["cost"], rows[purchase]["gain"]) == (None, None)
        assert (
            "price of the judge unknown: no run of the study has a price"
            in (rows[purchase]["reason"])
        )
    study.reward = 0
    result, rows = offers(study)
    assert "price of a person unknown" in rows["answers"]["reason"]
    assert summary_of(result) == "Nothing that 100 USD buys is known to narrow the interval."


@pytest.mark.nightly
@pytest.mark.django_db
def test_dollars_of_judges_and_pounds_of_people_are_added_at_a_stated_rate_only(
    few_draws, monkeypatch
):
    monkeypatch.setattr("extras.planning.next_money.judge_dollars", lambda *which: Decimal("0.01"))
    study = answered(currency="GBP")
    assert "in dollars and people in GBP" in offers(study)[1][SECOND_JUDGE]["reason"]
    _, rows = offers(study, dollar=0.8)
    assert rows[SECOND_JUDGE]["cost"] == pytest.approx(100 * 0.01 * 0.8)


@pytest.mark.django_db
def test_too_little_money_buys_nobody_and_no_sum_is_refused(few_draws):
    study = answered()
    _, rows = offers(study, amount=5)
    assert rows["answers"]["reason"] == "it takes at least 1 person, $6.00"
    assert rows[ITEMS]["reason"].startswith("it takes at least 3 people")
    for amount in (0, -1, float("nan"), float("inf")):
        with pytest.raises(BadParameters):
            offers(study, amount=amount)
    with pytest.raises(BadParameters):
        offers(study, dollar=0)


@pytest.mark.django_db
def test_the_command_plans_from_assumptions_before_there_are_answers(few_draws, capsys):
    study = make_study(slug="plan", items_per_annotator=10, reward=300, entry="link", state="draft")
    make_items(study, 60)
    call_command("plan", "plan", "--next", "50")
    out = capsys.readouterr().out
    assert "everything is from the plan’s assumptions, 60 items with 3 answers each" in out
    assert "price of the judge unknown" in out
    with pytest.raises(CommandError, match="--dollar needs --next"):
        call_command("plan", "plan", "--dollar", "2")
