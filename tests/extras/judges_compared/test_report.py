"""The part of the report that compares judges with one another."""

import numpy as np
import pytest

from analysis.report.build import all_tables
from extras.judges_compared.stats import cochran_q
from tests.analysis.builders import random_study
from tests.analysis.test_report_checks import TWO_JUDGES, built, page_of

pytestmark = pytest.mark.django_db


def test_one_judge_is_compared_with_no_other():
    report = built(random_study(8, runs=TWO_JUDGES[:1]))

    found = report["several_judges"]
    assert (found["q"], found["q_reason"], found["pairs"]) == (None, "one_judge", [])
    assert "Judges compared with one another" not in page_of(report)


@pytest.mark.nightly
def test_judges_are_compared_on_the_items_that_all_decided():
    report = built(random_study(8, n_items=60, runs=TWO_JUDGES))

    found = report["several_judges"]
    whole = [place for place, run in enumerate(report["judges"]) if run["features"] == "all"]
    verdicts = [[item["judges"][place]["correct"] for place in whole] for item in report["items"]]
    right = [row for row in verdicts if None not in row]
    assert found["n"] == len(right)
    assert found["q"] == pytest.approx(cochran_q(np.array(right, dtype=int)).statistic)
    assert len(found["pairs"]) == 3
    assert [entry["run"] for entry in found["ranks"]] == whole
    assert "Cochran’s Q is" in str(all_tables(report)["several_judges"].note)
    assert "Judges compared with one another" in page_of(report)
