"""Plain Python computes accuracy at every threshold, and at the coverage of single people."""

import pytest

from analysis.report.report_json import rounded
from analysis.stats import accuracy_at_coverage
from tests.analysis import brute_force
from tests.analysis import brute_force_sides as by_side
from tests.analysis.recomputed.comparing import pair, same
from tests.analysis.recomputed.conftest import of_scope

pytestmark = pytest.mark.django_db
study, report, counted = of_scope("module", "module_db")


def sweep(stated):
    """Every certainty that occurs as a threshold, the lowest first."""
    found = []
    for threshold in sorted({certainty for certainty, _ in stated}):
        rows = [right for certainty, right in stated if certainty >= threshold]
        exactly = sum(certainty == threshold for certainty, _ in stated)
        found.append((threshold, exactly, len(rows), sum(rows)))
    return found


def test_every_threshold(report, counted):
    for found, rows in by_side.all_sides(report, counted):
        stated = [(certainty, right) for right, certainty in rows if certainty is not None]
        steps = found["certainty"]["sweep"]
        listed = [(step["threshold"], step["at"], *pair(step)) for step in steps]
        assert listed == [(rounded(threshold), *counts) for threshold, *counts in sweep(stated)]


def _at_coverage(rows, coverage):
    stated, right = zip(*rows, strict=True)
    return accuracy_at_coverage(stated, right, coverage)


@pytest.mark.nightly
def test_all_sides_at_the_coverage_of_single_people(report, counted):
    seen = 0
    for versus in report["comparison"]:
        panel = versus["certainty"]["like_for_like"]
        people, replies = by_side.singles(counted, versus["run"])
        if not people:
            assert panel["coverage"] is None
            assert panel["human_single"]["matched_accuracy"] is None
            continue
        coverage = sum(certainty >= brute_force.HIGH for certainty, _ in people) / len(people)
        assert same(panel["coverage"], coverage)
        for side, rows in (("human_single", people), ("model_single", replies)):
            expected = _at_coverage(rows, coverage) if rows else None
            assert same(panel[side]["matched_accuracy"], expected), side
            seen += expected is not None
    assert seen == (0 if report["headline"]["state"] == "no_truth" else 6)
