"""Native, log-probability, sampled, stated and human certainty on the same items."""

import numpy as np
import pytest

from analysis.data.dataset import load_dataset
from analysis.data.verdicts import NATIVE
from analysis.report.build import build_report
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db

OTHER = {"r1": "r2", "r2": "r1"}


@stored_at_once()
def five_kinds(n_items=240, *, truth=True, people=True, seed=5):
    """A native judge whose probability is that of being right, and a boastful one that writes."""
    rng = np.random.default_rng(seed)
    study = make_study()
    personas = [make_persona(study=study) for _ in range(24)]
    raters = [make_rater(study=study) for _ in range(12)]
    native = make_run(study=study, judge="native", parameters={"backend": NATIVE})
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
        judge_item(
            native, item, choice, probabilities={choice: p, OTHER[choice]: 1 - p, "tie": 0.0}
        )
        for sample in (1, 2, 3):
            choice = right if rng.random() < p else OTHER[right]
            judge_item(
                writes,
                item,
                choice,
                int(rng.integers(85, 100)),
                sample=sample,
                probabilities={choice: 0.9, OTHER[choice]: 0.1, "tie": 0.0},
            )
    return study


def kinds_of(report):
    return {row["kind"]: row for row in report["certainty_kinds"]["rows"]}


def build(study):
    return build_report(load_dataset(study.slug), seed=1, bootstrap=50)


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
