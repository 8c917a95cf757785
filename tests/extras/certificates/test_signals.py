"""Certainty that nobody asked for in words: option probabilities, and agreement of readings."""

import numpy as np
import pytest

from analysis.data.dataset import load_dataset
from analysis.data.verdicts import (
    agreement_certainty,
    probability_certainty,
    run_verdicts,
)
from analysis.exports.rows import judgment_table
from extras.certificates.signals import order_certainty
from judging.models import Judgment
from tests.analysis.builders import judge_item, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db


def reading(run, item, choice, first, sample=1, **shares):
    judge_item(run, item, choice, shown_first=first, sample=sample)
    Judgment.objects.filter(run=run, item=item, shown_first=first, sample=sample).update(
        probabilities=shares or None
    )


def load(study):
    data = load_dataset(study.slug)
    return data, data.runs[0], run_verdicts(data, data.runs[0])


def test_probabilities_are_averaged_within_each_order_and_then_over_the_orders():
    study = make_study()
    run = make_run(study=study, orders="both", samples=2)
    item = make_item(study=study, key="a")
    reading(run, item, "r1", "r1", 1, r1=0.9, r2=0.1)
    reading(run, item, "r1", "r1", 2, r1=0.7, r2=0.3)
    reading(run, item, "r1", "r2", 1, r1=0.6, r2=0.4)

    data, loaded, verdicts = load(study)

    # (0.8 + 0.6) / 2, not (0.9 + 0.7 + 0.6) / 3
    assert probability_certainty(data, loaded, verdicts).tolist() == pytest.approx([70.0])


def test_without_probabilities_or_a_verdict_there_is_no_such_certainty():
    study = make_study()
    run = make_run(study=study, orders="both")
    silent, split = (make_item(study=study, key=key) for key in ("silent", "split"))
    reading(run, silent, "r1", "r1")
    reading(run, split, "r1", "r1", r1=0.9, r2=0.1)
    reading(run, split, "r2", "r2", r1=0.2, r2=0.8)

    data, loaded, verdicts = load(study)

    assert np.isnan(probability_certainty(data, loaded, verdicts)).all()
    assert np.isnan(agreement_certainty(verdicts)).all()  # one reading; a shared maximum


def test_the_export_holds_the_probabilities():
    study = make_study()
    run = make_run(study=study, orders="both")
    for key, truth, share in (("a", "r1", 0.9), ("b", "r1", 0.8), ("c", "r2", 0.6)):
        item = make_item(study=study, key=key, first_person=truth)
        reading(run, item, "r1", "r1", r1=share, r2=1 - share)
        reading(run, item, "r1", "r2", r1=share, r2=1 - share)

    row = next(iter(judgment_table(study)))
    assert (row["probability_r1"], row["probability_r2"]) == (0.9, pytest.approx(0.1))
    assert row["probability_tie"] is None


def test_agreement_of_orders_is_the_share_in_the_order_where_it_is_lower():
    study = make_study()
    run = make_run(study=study, orders="both", samples=3)
    answers = {
        "mixed": {"r1": ["r1", "r1", "r1"], "r2": ["r1", "r2", "r1"]},
        "agreed": {"r1": ["r2", "r2"], "r2": ["r2"]},
        "one order": {"r1": ["r1", "r1"]},
        "undecided": {"r1": ["r1"], "r2": ["r2"]},
    }
    for key, orders in answers.items():
        item = make_item(study=study, key=key)
        for first, choices in orders.items():
            for sample, choice in enumerate(choices, start=1):
                reading(run, item, choice, first, sample)

    data, loaded, verdicts = load(study)
    found = dict(
        zip([i.key for i in data.items], order_certainty(data, loaded, verdicts), strict=True)
    )

    assert found["mixed"] == pytest.approx(200 / 3)
    assert found["agreed"] == 100
    assert np.isnan([found["one order"], found["undecided"]]).all()


def test_a_signal_that_is_the_stated_certainty_has_its_thresholds():
    study = make_study()
    run = make_run(study=study, setting="certainty")
    for n in range(40):
        item = make_item(study=study, key=f"i{n:02}", first_person="r2" if n % 8 == 7 else "r1")
        certainty = 60 + n
        judge_item(run, item, "r1", certainty=certainty)
        shares = {"r1": certainty / 100, "r2": 1 - certainty / 100}
        Judgment.objects.filter(run=run, item=item).update(probabilities=shares)

    report = report_of(study)

    (judge,), (stated,) = report["judges"], report["selective"]
    (name,) = judge["signals"]
    found = judge["signals"][name]
    assert name == "probabilities"
    for key in ("n", "brier", "aurc", "ece"):
        assert found["calibration"][key] == pytest.approx(judge["calibration"][key])
    assert {key: stated[key] for key in found["selective"]} == found["selective"]
    wrong = [n % 8 == 7 for n in range(40)]
    for percent in (25, 50, 75):
        most_certain = wrong[-(40 * percent // 100) :]
        right = 1 - sum(most_certain) / len(most_certain)
        assert found[f"right_at_{percent}"] == pytest.approx(right)


def test_a_signal_that_is_the_same_everywhere_is_no_threshold():
    study = make_study()
    run = make_run(study=study, orders="both")
    for key in ("a", "b"):
        item = make_item(study=study, key=key)
        for first in ("r1", "r2"):
            reading(run, item, "r1", first)

    report = report_of(study)

    assert "signals" not in report["judges"][0]
