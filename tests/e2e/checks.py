"""A report compared, number by number, with brute force over the raw tables."""

from typing import Any

import pytest

from demo import reference
from demo.reference import ReferenceAnswer, ReferenceVerdict
from tests.e2e import raw
from tests.e2e.stack import Stack


def exactly(value: float | None) -> Any:
    """Equal in the ten digits that a report has; what is undefined is None."""
    return None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)


def check_report(stack: Stack, study: str, report: dict[str, Any]) -> None:
    """Fail where `report` says something that the tables do not."""
    truth = raw.truth(stack, study)
    answers = raw.answers(stack, study)
    majority = reference.verdicts(answers)
    human = report["human"]

    assert report["inputs"]["items"] == len(truth)
    assert report["inputs"]["annotations"] == len(answers)
    assert human["annotators"] == len({row.rater for row in answers})
    assert_cells(human["majority"], reference.score(majority.items(), truth))
    assert human["majority"]["ties"] == sum(v.choice is None for v in majority.values())
    assert_cells(human["individual"], reference.individual(answers, truth))
    agreement = human["agreement"]
    assert agreement["percent"] == exactly(reference.percent_agreement(answers))
    alpha = reference.krippendorff_alpha(answers)
    assert agreement["krippendorff_alpha"]["value"] == exactly(alpha)

    runs = raw.judgments(stack, study)
    assert report["inputs"]["judgments"] == sum(map(len, runs.values()))
    listed = {(j["judge"], j["setting"], j["features"]): j for j in report["judges"]}
    compared = {(j["judge"], j["setting"], j["features"]): j for j in report["comparison"]}
    assert set(listed) == set(runs) == set(compared)
    for key, judgments in runs.items():
        check_judge(listed[key], compared[key], judgments, majority, truth)


def check_judge(
    judge: dict[str, Any],
    comparison: dict[str, Any],
    judgments: list[tuple],
    majority: dict[str, ReferenceVerdict],
    truth: dict[str, str],
) -> None:
    verdicts = reference.verdicts(
        ReferenceAnswer(item, "", choice, certainty)
        for item, state, choice, certainty, _ in judgments
        if state == "done"
    )
    assert_cells(judge, reference.score(verdicts.items(), truth))
    for name in ("unparseable", "refused", "skipped", "error"):
        assert judge["excluded"][name] == sum(state == name for _, state, *_ in judgments)
    assert judge["excluded"]["tie"] == judge["excluded"]["no_truth"] == 0
    calibration = reference.calibration(verdicts.items(), truth)
    for name, value in calibration.items():
        assert judge["calibration"][name] == exactly(value), name

    expected = reference.compare(majority, verdicts, truth)
    for name in ("agreement_with_majority", "cohen_kappa"):
        assert comparison[name] == exactly(expected[name]), name
    assert comparison["mcnemar"]["b"] == expected["mcnemar"]["b"]
    assert comparison["mcnemar"]["c"] == expected["mcnemar"]["c"]
    assert comparison["difference"]["value"] == exactly(expected["difference"])


def assert_cells(reported: dict[str, Any], expected: dict[str, Any]) -> None:
    """Counts and rates, whole and by certainty."""
    for cell, wanted in (
        (reported, expected),
        (reported["high"], expected["high"]),
        (reported["low"], expected["low"]),
    ):
        assert (cell["n"], cell["correct"]) == (wanted["n"], wanted["correct"])
        assert cell["accuracy"] == exactly(wanted["accuracy"])
    if "no_certainty" in reported:
        assert reported["no_certainty"] == expected["no_certainty"]
