"""Native, log-probability, sampled, stated and human certainty on the same items."""

import numpy as np
import pytest

from analysis.data.dataset import load_dataset
from analysis.data.verdicts import run_verdicts
from analysis.report.build import all_sentences
from extras.certainty.kinds import on_same_items, sampled_certainty
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytest.importorskip("extras.judge_models")  # decision endpoints, whose certainty is native
pytestmark = pytest.mark.django_db

OTHER = {"r1": "r2", "r2": "r1"}


WORLDS = {
    "calibrated": lambda p: p,
    "overconfident": lambda p: 1 - (1 - p) ** 2,
    "useless": lambda p: 0.5 + (p * 7919) % 0.5,
}


@stored_at_once()
def five_kinds(n_items=240, *, truth=True, people=True, world="calibrated", seed=5):
    """A native judge that is right with probability p, and a boastful one that writes.

    The native judge states what the world makes of p.
    """
    rng = np.random.default_rng(seed)
    study = make_study()
    personas = [make_persona(study=study) for _ in range(24)]
    raters = [make_rater(study=study) for _ in range(12)]
    native = make_run(study=study, judge="native", parameters={"backend": "decisions"})
    writes = make_run(study=study, judge="writes", samples=3)
    for number in range(n_items):
        right = ("r1", "r2")[number % 2]
        item = make_item(
            study=study,
            key=f"i{number:03}",
            persona=personas[number % 24],
            first_person=right if truth else "",
        )
        p = 0.5 + number % 50 / 100
        for rater in rng.permutation(12)[:3] if people else ():
            choice = right if rng.random() < 0.75 else OTHER[right]
            answer(raters[rater], item, choice, int(rng.integers(40, 100)))
        choice = right if rng.random() < p else OTHER[right]
        q = WORLDS[world](p)
        judge_item(native, item, choice, probabilities={choice: q, OTHER[choice]: 1 - q})
        for sample in (1, 2, 3):
            choice = right if rng.random() < p else OTHER[right]
            judge_item(
                writes,
                item,
                choice,
                int(rng.integers(85, 100)),
                sample=sample,
                probabilities={choice: 0.9, OTHER[choice]: 0.1},
            )
    return study


def kinds_of(report):
    return {row["kind"]: row for row in report["certainty_kinds"]["rows"]}


def build(study):
    return report_of(study)


@pytest.mark.nightly
def test_every_kind_is_measured_on_the_same_items_and_none_is_pooled():
    from sklearn.metrics import brier_score_loss, roc_auc_score

    study = five_kinds()

    report = build(study)

    found, rows = report["certainty_kinds"], kinds_of(report)
    assert list(rows) == ["native", "log_probability", "sampled", "stated", "human"]
    assert {row["n"] for row in rows.values()} == {found["items"]}
    assert found["not_measured"] == found["not_compared"] == []
    data = load_dataset(study.slug)
    run = next(run for run in data.runs if run.judge == "native")
    shares = run.judgments.probabilities.max(axis=1)
    correct = run.judgments.choice == data.truth
    common = ~np.isnan(_people_certainty(report))
    assert found["items"] == common.sum()
    native = rows["native"]
    assert native["brier"] == pytest.approx(brier_score_loss(correct[common], shares[common]))
    assert native["auroc"] == pytest.approx(roc_auc_score(correct[common], shares[common]))
    for step in native["steps"]:
        accepted = common & (shares >= step["from"] / 100 - 1e-9)
        assert (step["accepted"], step["errors"]) == (accepted.sum(), (accepted & ~correct).sum())
    assert native["with_people"]["ci"][0] < native["with_people"]["value"]


def _people_certainty(report):
    rows = sorted(report["items"], key=lambda row: row["item"])
    stated = [row["people"]["certainty"] for row in rows]
    return np.array([np.nan if value is None else value for value in stated])


@pytest.mark.nightly
@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("world", WORLDS)
def test_planted_calibration_of_a_native_judge_is_recovered(world):
    report = build(five_kinds(1000, people=False, world=world, seed=8))

    native = kinds_of(report)["native"]
    chance = 0.5 + np.arange(50) / 100
    stated = np.array([WORLDS[world](p) for p in chance])
    brier = np.mean(chance * (1 - stated) ** 2 + (1 - chance) * stated**2)
    gap = np.mean(np.abs(stated - chance)) if world == "overconfident" else 0.0
    assert native["brier_ci"][0] <= brier <= native["brier_ci"][1]
    low, high = native["auroc_ci"]
    assert (low < 0.5 < high) if world == "useless" else (low < 0.7222 < high)
    if world == "calibrated":
        assert native["ece"] < 0.05
    if world == "overconfident":
        assert native["ece"] == pytest.approx(gap, abs=0.04)
    rank = native["trusted"][2]["tested"]
    assert (len(rank) > 1 and rank[0]["p_max"] < 0.05) == (world != "useless")


def sentence_of(report):
    starts = ("How many of the same", "We cannot tell whether any certainty")
    return next(str(s.text) for s in all_sentences(report) if str(s.text).startswith(starts))


@pytest.mark.nightly
def test_the_sentence_claims_what_holds_at_the_level_of_all_claims_and_else_cannot_tell():
    report = build(five_kinds(1000, people=False))

    words = sentence_of(report)

    kinds = {each["kind"]: each for each in report["claims_tested"]["kinds"]}
    claim = kinds["certainty that can be trusted"]
    assert claim["tested"] == 12
    assert 0 < claim["hold"] < 12
    step = max(
        (s for s in kinds_of(report)["native"]["trusted"][2]["tested"]),
        key=lambda s: (s["p_max"] <= claim["level"], s["n"]),
    )
    assert f"{step['n']} by the native certainty of native" in words
    assert "with at most 5 % wrong, none" in words
    claim["level"] = 0.0
    assert sentence_of(report).startswith("We cannot tell whether any certainty can be trusted")


@pytest.mark.nightly
def test_without_right_answers_judges_are_compared_with_the_majority_of_people():
    report = build(five_kinds(truth=False))

    found, rows = report["certainty_kinds"], kinds_of(report)
    assert found["reference"] == "majority"
    assert rows["human"]["n"] == 0
    assert rows["human"]["brier_reason"] == rows["human"]["ece_reason"] == "is_reference"
    expected = report["comparison"][0]["agreement_with_majority"]
    assert rows["native"]["accuracy"] == pytest.approx(expected)
    assert "unlike people" in sentence_of(report)


def test_what_nobody_measured_is_named_with_the_runs_that_could_have_it():
    study = make_study()
    run = make_run(study=study, judge="writes", setting="standard")
    for number in range(12):
        item = make_item(study=study, first_person="r1")
        judge_item(run, item, "r1" if number % 2 else "r2")

    report = build(study)

    assert report["certainty_kinds"]["rows"] == []
    assert report["certainty_kinds"]["not_measured"] == [
        {"kind": "native", "raters": []},
        {"kind": "log_probability", "raters": ["judges.0"]},
        {"kind": "sampled", "raters": ["judges.0"]},
        {"kind": "stated", "raters": ["judges.0"]},
        {"kind": "human", "raters": []},
    ]


def test_samples_count_within_an_order_and_only_where_there_are_two():
    study = make_study()
    run = make_run(study=study, orders="both", samples=3)
    mixed, once = (make_item(study=study, key=key) for key in ("mixed", "once"))
    for first, choices in (("r1", ["r1", "r1", "r1"]), ("r2", ["r1", "r2"])):
        for sample, choice in enumerate(choices, start=1):
            judge_item(run, mixed, choice, shown_first=first, sample=sample)
        judge_item(run, once, "r1", shown_first=first)
    data = load_dataset(study.slug)

    found = sampled_certainty(data, data.runs[0], run_verdicts(data, data.runs[0]))

    assert found[0] == pytest.approx(75)
    assert np.isnan(found[1])


def test_a_row_that_would_halve_the_items_is_left_out_whatever_is_right():
    known = np.ones((3, 10), dtype=bool)
    known[0, 8:] = False
    known[1, 2:] = False

    kept, items = on_same_items(known)

    assert kept == [0, 2]
    assert items.sum() == 8
    assert on_same_items([])[0] == []
