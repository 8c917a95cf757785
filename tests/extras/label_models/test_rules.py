"""The rules of labelling in a report."""

import pytest

from analysis.report.build import all_tables
from tests.analysis.builders import random_study
from tests.analysis.test_report_numbers import built

pytestmark = pytest.mark.django_db

MODELS = ("Dawid-Skene", "one-coin", "MACE", "GLAD")
SIZE = {"n_items": 60, "n_raters": 9, "truths": ("r1", "r2", "r1", "r2", "")}


@pytest.fixture(scope="module")
def report(module_db):
    return built(random_study(1, **SIZE))


@pytest.mark.nightly
def test_every_rule_of_labelling_is_listed_and_a_settled_one_says_so(report):
    rules = {entry["rule"]: entry for entry in report["human"]["aggregation"]}

    majority = report["human"]["majority"]
    assert {"majority", "Dawid-Skene", "one-coin", "MACE", "GLAD"} <= rules.keys()
    assert (rules["majority"]["correct"], rules["majority"]["n"]) == (
        *(majority["correct"], majority["n"]),
    )
    nobody = report["human"]["coverage"].get("0", 0)
    assert rules["majority, ties at random (seed 1)"]["undecided"] == nobody
    assert all(rules[name]["converged"] for name in MODELS)
    assert all(0 <= rater["bits"] <= 1 for rater in report["human"]["raters"])


@pytest.mark.nightly
def test_models_of_labelling_that_do_not_settle_give_no_figure(monkeypatch):
    monkeypatch.setattr("extras.label_models.rules.MAX_READ", 900)
    monkeypatch.setattr("extras.label_models.rules.GLAD_VOTES", 10)

    report = built(random_study(2, **SIZE))

    rules = {entry["rule"]: entry for entry in report["human"]["aggregation"]}
    for name in ("Dawid-Skene", "MACE"):
        assert (rules[name]["accuracy"], rules[name]["ci"]) == (None, None)
        assert rules[name]["accuracy_reason"] == rules[name]["undecided_reason"] == "not_settled"
    assert rules["GLAD"]["accuracy_reason"] == "too_large"
    assert {row["bits_reason"] for row in report["human"]["raters"]} == {"not_settled"}
    reasons = {row[0]: row[3] for row in all_tables(report)["aggregation"].rows}
    assert reasons["MACE"] == "the model did not converge"
    assert reasons["majority"] is None


def test_a_rule_that_uses_the_true_answers_says_so(report):
    rules = [entry["rule"] for entry in report["human"]["aggregation"]]

    (weighted,) = (rule for rule in rules if rule.startswith("weighted by accuracy"))
    assert "uses the truth" in weighted
    assert "knows the truth of all other items" in str(all_tables(report)["aggregation"].note)
