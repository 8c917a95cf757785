import numpy as np
import pytest

from analysis.report.build import all_tables
from analysis.report.sentences import CALIBRATION
from analysis.stats import check_threshold, wilson_interval
from extras.certainty.reliability import reliability_figure
from extras.certainty.stats import threshold_sweep, unreachable_thresholds
from extras.certainty.thresholds import risk_coverage_figure
from tests.analysis.builders import random_study
from tests.analysis.partial import report_of
from tests.analysis.stats.reference import vector
from tests.analysis.test_report_edges import made

CASE = vector("calibration_200")
CONF, CORRECT, EXPECTED = CASE["conf_percent"], CASE["correct"], CASE["expected"]


def test_the_sweep_counts_what_each_threshold_accepts():
    points = {point.threshold: point for point in threshold_sweep(CONF, CORRECT)}
    high = EXPECTED["high80"]

    assert [points[80].accuracy.correct, points[80].accuracy.n] == high
    assert points[80].n_at == CONF.count(80)
    assert points[80].coverage == high[1] / 200
    wilson = wilson_interval(*high)
    assert points[80].accuracy.interval.low == pytest.approx(wilson.low)
    assert list(points) == sorted(set(CONF))
    assert sum(point.n_at for point in points.values()) == 200


def test_both_readings_coincide_at_exactly_the_thresholds_that_no_answer_has():
    rng = np.random.default_rng(4)
    certainty = np.where(rng.random(60) < 0.1, np.nan, rng.integers(2, 202, 60) / 2)
    correct = rng.integers(-1, 2, 60)

    found = unreachable_thresholds(certainty, correct)

    checks = {tau: check_threshold(certainty, correct, tau) for tau in range(1, 101)}
    assert found == tuple(tau for tau, c in checks.items() if c.at_least == c.above)
    assert 0 < len(found) < 100


def test_without_answers_there_is_nothing_to_sweep():
    assert threshold_sweep([], []) == ()
    assert unreachable_thresholds([80, np.nan], [-1, 1]) == ()


@pytest.mark.django_db
def test_the_sweep_names_the_thresholds_that_no_answer_reaches():
    report = report_of(random_study(10))

    side = report["human"]["individual"]["certainty"]
    stated = {20, 40, 55, 60, 79, 80, 81, 95, 100}
    assert side["unreachable"] == [tau for tau in range(1, 101) if tau not in stated]
    table = all_tables(report)["thresholds"]
    shown = [row[1:3] for row in table.rows if row[0] == "People, single"]
    assert shown == [
        [20, "1–19"],
        [40, "21–39"],
        [55, "41–54"],
        [60, "56–59"],
        [79, "61–78"],
        [80, None],
        [81, None],
        [95, "82–94"],
        [100, "96–99"],
    ]


@pytest.mark.nightly
def test_the_band_covers_the_whole_curve_at_its_level():
    rng, runs, hits = np.random.default_rng(12), 300, 0
    values = np.array([50.0, 60, 70, 80, 90])
    right = np.array([0.5, 0.55, 0.6, 0.7, 0.8])
    truth = np.cumsum(right[::-1])[::-1] / np.arange(5, 0, -1)
    for _ in range(runs):
        group = rng.integers(0, 5, 400)
        correct = (rng.random(400) < right[group]).astype(int)
        points = threshold_sweep(values[group], correct, n_draws=400, rng=rng)
        hits += all(
            point.band.low <= expected <= point.band.high
            for point, expected in zip(points, truth, strict=True)
        )

    assert hits / runs == pytest.approx(0.95, abs=0.035)


@pytest.mark.django_db
def test_titles_and_marks_say_what_holds_and_what_is_too_few():
    report = report_of(made(items=40, answers=[("r1", 50)] * 3, judged=("r1", 50)))
    assert "At certainty 80: too few answers to mark" in risk_coverage_figure(report).panels[0].alt
    untested = reliability_figure(report | {"claims_tested": {}})
    assert str(untested.title) == "Accuracy by certainty"

    lower = {"kind": CALIBRATION, "who": "majority", "t": -3.0, "p_max": 0.001}
    level = {"kind": CALIBRATION, "level": 0.05}
    claims = {"claims_tested": {"kinds": [level], "members": [lower]}}

    assert str(reliability_figure(report | claims).title) == (
        "Certainty is lower than accuracy for the majority of people"
    )
