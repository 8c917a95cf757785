"""What a report says that it cannot bear."""

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from tests.analysis.builders import random_study

pytestmark = pytest.mark.django_db


def test_limits_say_what_no_such_study_can_bear():
    study = random_study(81, n_items=150, n_raters=20, truths=("r1", "r2"), per_item=(2, 3, 4))
    report = build_report(load_dataset(study.slug), seed=7, bootstrap=20)

    limits = {limit["limit"]: limit["text"] for limit in report["limitations"]}

    assert "decisions about individuals" in limits["individuals"]
    assert "stereotype" in limits["stereotypes"]
    assert "only in the band “Confident”" in limits["certainty"]
    at = report["human"]["individual"]["at_threshold"]
    assert f"{at} single answers of people are exactly there" in limits["certainty"]
    assert "language “en”" in limits["language"]
    assert limits["explored"].startswith("No analysis plan")
    sides = [report["human"]["majority"], *report["judges"]]
    small = [
        (band, s[band]["n"]) for s in sides for band in ("high", "low") if 0 < s[band]["n"] < 30
    ]
    assert small
    assert all(f"{band} certainty ({n})" in limits["small_cells"] for band, n in small)
