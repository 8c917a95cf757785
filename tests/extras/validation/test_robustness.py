"""Pasted answers that change the verdict, and what several judges are worth."""

import random
from itertools import product

import numpy as np
import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_figures, all_sentences, all_tables, build_report
from analysis.report.verdict.answer import replacement_of
from analysis.stats import Sharing, Votes
from benchmarks.simulations.of_extras.validation import (
    EPSILON,
    against_majority,
    brute_force,
    budget_of,
    instead_of_a_person,
    people_who_answer,
)
from extras.validation.stats import (
    StudySize,
    breakdown_point,
    effective_judges,
    error_budget,
    replacement_breakdown,
)
from extras.validation.stats.budget import cheapest
from judging.wordings import save_wording
from studies.models import Item
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study


def made_answers(rng, *, items, people, each, wrong):
    answers = np.full((items, people), -1)
    for item in range(items):
        answers[item, rng.choice(people, each, replace=False)] = rng.random(each) < wrong
    return answers


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_the_smallest_group_is_that_of_trying_all_groups(seed):
    rng = np.random.default_rng(seed)
    answers = made_answers(rng, items=40, people=10, each=2, wrong=0.35)
    judge = (rng.random(40) < 0.1 * (seed + 0.5)).astype(int)
    votes, truth = Votes.from_matrix(answers), np.zeros(40, dtype=int)
    sharing = Sharing.of_items(40, {}, votes)

    found = breakdown_point(votes, judge, truth, judge, sharing, rng=rng, n_draws=5)

    assert found.state is not None
    assert found.high == brute_force(
        answers, judge, lambda rows: against_majority(rows, judge, sharing)
    )
    assert found.low == found.high
    assert [point[:2] for point in found.curve][-1] == (0.5, 5)


@pytest.mark.parametrize("slips", [0.0, 0.5])
def test_without_right_answers_the_smallest_group_changes_whether_a_judge_can_replace_people(slips):
    rng = np.random.default_rng(5)
    answers, better = people_who_answer(rng, 90, 10, 2, 0.2)
    judge = better ^ (rng.random(90) < slips)
    votes = Votes.from_matrix(answers)
    sharing = Sharing.of_items(90, {}, votes)

    found = replacement_breakdown(
        votes, judge, 1 - judge, sharing, epsilon=EPSILON, rng=rng, n_draws=5
    )

    now = instead_of_a_person(answers, judge, sharing)
    assert (found.state, found.low) == (now, found.high)
    assert found.high == brute_force(
        answers, 1 - judge, lambda rows: instead_of_a_person(rows, judge, sharing)
    )
    changed = answers.copy()
    members = list(found.found)
    changed[:, members] = np.where(answers[:, members] >= 0, 1 - judge[:, None], -1)
    assert instead_of_a_person(changed, judge, sharing) == found.becomes != now


def test_with_many_people_a_group_is_found_whose_answers_change_the_verdict():
    rng = np.random.default_rng(3)
    answers = made_answers(rng, items=150, people=30, each=3, wrong=0.45)
    judge = (rng.random(150) < 0.15).astype(int)
    votes, truth = Votes.from_matrix(answers), np.zeros(150, dtype=int)
    sharing = Sharing.of_items(150, {}, votes)

    found = breakdown_point(votes, judge, truth, judge, sharing, rng=rng, n_draws=20)

    assert found.state == "better"
    assert 3 <= found.low <= found.high == len(found.found)
    changed = answers.copy()
    group = list(found.found)
    changed[:, group] = np.where(answers[:, group] >= 0, judge[:, None], -1)
    again = breakdown_point(
        Votes.from_matrix(changed), judge, truth, judge, sharing, rng=rng, n_draws=2
    )
    assert again.state == found.becomes != found.state


def test_too_few_people_have_no_breakdown_point_and_nobody_is_no_error():
    rng = np.random.default_rng(3)
    votes = Votes.from_matrix(made_answers(rng, items=20, people=3, each=3, wrong=0.3))
    truth = np.zeros(20, dtype=int)
    sharing = Sharing.of_items(20, {}, votes)
    found = breakdown_point(votes, truth, truth, truth, sharing, rng=rng)
    assert (found.state, found.reason) == (None, "too_few_annotators")
    none = breakdown_point(votes, truth, truth - 1, truth, sharing, rng=rng)
    assert none.reason == "empty_group"


def test_the_number_of_judges_is_that_of_partial_correlations():
    rng = np.random.default_rng(2)
    difficulty = rng.integers(0, 3, 300) / 2
    errors = (rng.random((300, 4)) < 0.2 + 0.2 * difficulty[:, None]).astype(float)
    errors[:, 1] = np.where(rng.random(300) < 0.5, errors[:, 0], errors[:, 1])
    errors[5, 2] = np.nan

    found = effective_judges(errors, difficulty, Sharing.of_items(300, {}))

    kept = np.delete(np.arange(300), 5)
    dummies = np.eye(3)[(difficulty[kept] * 2).astype(int)]
    rest = errors[kept] - dummies @ np.linalg.lstsq(dummies, errors[kept], rcond=None)[0]
    pairs = np.corrcoef(rest.T)[np.triu_indices(4, 1)]
    assert found.correlation == pytest.approx(pairs.mean())
    assert found.value == pytest.approx(4 / (1 + 3 * pairs.mean()))
    assert found.interval.low < found.value < found.interval.high
    assert (found.judges, found.n) == (4, 299)
    same = effective_judges(errors[kept][:, [0, 0]], None, Sharing.of_items(299, {}))
    assert same.value == pytest.approx(1)
    perfect = effective_judges(np.zeros((50, 3)), None, Sharing.of_items(50, {}))
    assert (perfect.value, perfect.reason) == (None, "no_variation")
    few = effective_judges(errors[:9], None, Sharing.of_items(9, {}))
    assert few.reason == "too_few_items"


def test_the_budget_has_the_variances_of_an_analysis_of_variance():
    rng = np.random.default_rng(6)
    item = np.repeat(np.arange(80), 4)
    correct = rng.random(320) < rng.choice([0.3, 0.9], 80)[item]
    read, hits = np.full(80, 2), rng.binomial(2, 0.7, 80)

    found = error_budget(
        correct.astype(int), item, hits, read, Sharing.of_items(320, {"item": item})
    )

    gap = (hits[item] / 2 - correct).reshape(80, 4)
    between, within = 4 * gap.mean(axis=1).var(ddof=1), gap.var(axis=1, ddof=1).mean()
    assert found.components["item"] == pytest.approx((between - within) / 4, abs=1e-3)
    assert found.row == pytest.approx((between + 3 * within) / 4, abs=1e-3)
    assert found.width_of(found.size) == pytest.approx(found.half_width)
    p = hits / 2
    assert found.noise.reading == pytest.approx(np.mean(2 * p * (1 - p)))
    offer = cheapest(found, found.half_width / 2, answer=1, judgment=0, alone="items")
    assert (offer.size.answers, offer.half_width <= found.half_width / 2) == (4, True)
    assert offer.size.items in (320, 400)
    assert cheapest(found, found.half_width / 50, answer=1, judgment=0) is None


def test_wordings_orders_and_readings_are_told_apart():
    rng = np.random.default_rng(9)
    item, noise = np.repeat(np.arange(120), 3), rng.normal(0, 1, (120, 4))
    correct = (rng.random(360) < 0.6).astype(int)
    chance = np.clip(0.55 + 0.05 * np.array([-2, -1, 1, 2]) + 0.08 * noise, 0, 1)
    both = np.stack([chance + 0.1, chance - 0.1], axis=2).clip(0, 1)
    hits, read = rng.binomial(2, both), np.full(both.shape, 2)

    found = error_budget(correct, item, hits, read, Sharing.of_items(360, {"item": item}))

    # The mean squares of a two-way analysis of variance, by its sums of squares.
    share = hits.mean(axis=2) / 2
    total, rows, columns = (
        ((share - share.mean()) ** 2).sum(),
        4 * ((share.mean(axis=1) - share.mean()) ** 2).sum(),
        120 * ((share.mean(axis=0) - share.mean()) ** 2).sum(),
    )
    rest = (total - rows - columns) / (119 * 3)
    assert found.noise.interaction == pytest.approx(rest)
    assert found.noise.wording == pytest.approx((columns / 3 - rest) / 120)
    p, gap = hits / 2, (hits[:, :, 0] - hits[:, :, 1]) / 2
    assert found.noise.reading == pytest.approx(np.mean(2 * p * (1 - p)))
    assert found.noise.order == pytest.approx(np.mean(gap**2) / 2 - found.noise.reading / 2)
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.width_of(found.size) == pytest.approx(found.half_width)
    # Orders that differ make a single reading worth less; further readings in both do not help.
    once, often, asked = (
        found.noise.of_mean(readings, wordings, found.size)
        for readings, wordings in ((1, 4), (1e9, 4), (4, 8))
    )
    reading, order = found.noise.reading, found.noise.order
    assert once == pytest.approx((reading * 3 / 4 + order / 2) / 4)
    assert often == pytest.approx(-reading / 16)
    assert asked == pytest.approx(-rest / 8)
    one_each = error_budget(correct, item, hits // 2, read // 2, Sharing.of_items(360, {}))
    assert (one_each.noise.reading, one_each.noise.order) == (None, None)


def test_the_width_of_a_larger_study_is_foreseen():
    rng = np.random.default_rng(7)
    sizes = StudySize(300, 3, 2), StudySize(600, 3, 2)
    before, after = ([budget_of(rng, size) for _ in range(8)] for size in sizes)
    expected = np.mean([each.width_of(sizes[1]) for each in before])
    assert expected == pytest.approx(np.mean([each.half_width for each in after]), rel=0.15)


TEXT = "{{ persona }} {{ question }} {{ response_a }} {{ response_b }} "


def study_of(*, truth="r1", people=12, judges=3, items=48):
    study, rng = make_study(slug="one"), random.Random(2)
    raters = [make_rater(study=study) for _ in range(people)]
    runs = [make_run(study=study, judge=f"judge {n}") for n in range(judges)]
    for n in range(items):
        persona = make_persona(study=study, key=f"p{n:02}")
        item = make_item(study=study, key=f"i{n:02}", persona=persona, first_person=truth)
        for rater in rng.sample(raters, min(2, people)):
            answer(rater, item, "r1" if rng.random() < 0.6 else "r2", 70)
        slip = rng.random() < 0.3
        for run in runs:
            is_wrong = slip if rng.random() < 0.6 else rng.random() < 0.3
            judge_item(run, item, "r2" if is_wrong else "r1", 70)
    return study


@pytest.mark.nightly
@pytest.mark.django_db
def test_the_report_shows_both_and_share_the_reasons():
    study_of()

    report = build_report(load_dataset("one"), seed=1, bootstrap=20)

    found = report["breakdown"]
    assert [each["pasted"] for each in found["pasted_answers"]] == ["own", "another", "opposite"]
    assert found["people"] == 12
    assert report["effective_judges"]["by_truth"]["judges"] == 3
    assert 1 < report["effective_judges"]["by_truth"]["value"] < 3
    budget = report["error_budget"]
    assert sum(each["share"] for each in budget["shares"]) == pytest.approx(1, abs=1e-4)
    assert [each["change"] for each in budget["halved"]] == ["items", "answers", "readings", "any"]
    assert budget["halved"][0]["half_width"] <= budget["half_width"] / 2
    tables = all_tables(report)
    assert len(tables["halved"].rows) == 5
    widths = [each["half_width"] for each in budget["narrower"]]
    assert widths == sorted(widths, reverse=True)
    assert budget["narrower"][4] | {"change": "any"} == budget["halved"][3] | {"share": 0.5}
    (curve,) = all_figures(report)["narrower"].panels
    assert list(curve.drawing["data"][0]["y"]) == widths
    assert len(tables["breakdown"].rows) == 3
    assert len(tables["effective_judges"].rows) == 2
    words = [str(one.text) for one in all_sentences(report, "finding")]
    assert any("3 judges are worth" in text for text in words)
    assert any("had pasted" in text for text in words)
    assert not faults({"effective_judges": report["effective_judges"]})


@pytest.mark.nightly
@pytest.mark.django_db
def test_a_judge_in_three_wordings_has_an_interval_for_other_wordings():
    study, rng = study_of(judges=0), random.Random(4)
    items = list(study.all_items.all())
    for name in ("", "short", "long"):
        own = name and save_wording(
            study_id=study.pk, name=name, setting="certainty", template=TEXT + name
        )
        run = make_run(study=study, orders="both", samples=2, wording=own or None, prompt_hash="")
        for item, shown, sample in product(items, ("r1", "r2"), (1, 2)):
            choice = "r1" if rng.random() < (0.6, 0.9)[shown == "r1"] else "r2"
            judge_item(run, item, choice, 70, shown_first=shown, sample=sample)

    report = build_report(load_dataset("one"), seed=1, bootstrap=20)

    budget = report["error_budget"]
    assert (budget["wordings"], budget["wording"] is not None) == (3, True)
    assert (budget["orders"], budget["readings"]) == (2, 4)
    assert budget["order"] > 0.02
    assert {each["source"] for each in budget["shares"]} >= {"wording", "answer"}
    assert [each["change"] for each in budget["halved"]][-2:] == ["wordings", "any"]
    tables = all_tables(report)
    assert "Mean accuracy of steady in 3 wordings" in str(tables["error_sources"].note)
    assert len(tables["halved"].rows) == 6


@pytest.mark.nightly
@pytest.mark.django_db
@pytest.mark.parametrize("missing", ["truth", "people", "judges"])
def test_without_truth_people_or_judges_the_rest_is_there(missing):
    study_of(
        truth="" if missing == "truth" else "r1",
        people=0 if missing == "people" else 12,
        judges=1 if missing == "judges" else 3,
    )

    report = build_report(load_dataset("one"), seed=1, bootstrap=20)

    if missing == "truth":
        # The verdict is that of the first screen, which is about the judge in place of a person.
        own, *_ = report["breakdown"]["pasted_answers"]
        verdict = replacement_of(report)
        states = {"cannot_tell": "not_settled"}
        assert own["state"] == states.get(verdict.state, verdict.state)
        assert report["breakdown"]["run"] == report["judges"][verdict.index]["run"]
        assert "The right answers are unknown" in str(all_tables(report)["breakdown"].note)
        assert "error_budget" not in report
        assert report["effective_judges"]["by_truth"]["value_reason"] == "too_few_items"
        assert report["effective_judges"]["by_people"]["n"] > 20
    elif missing == "people":
        assert "breakdown" not in report
        assert not report["effective_judges"]["adjusted"]
        assert report["effective_judges"]["by_truth"]["value"] > 1
    else:
        assert "effective_judges" not in report
        another = report["breakdown"]["pasted_answers"][1]
        assert (another["state"], another["high_reason"]) == (None, "one_judge")
    assert Item.objects.count() == 48
    all_tables(report)
    all_sentences(report, "finding")
