import numpy as np
import pytest

from analysis.stats import brier_score, calibration_error, discrimination
from tests.analysis.stats.reference import vector

CASE = vector("calibration_200")
CONF, CORRECT, EXPECTED = CASE["conf_percent"], CASE["correct"], CASE["expected"]


def test_calibration_error_gives_the_reference_values():
    width = calibration_error(CONF, CORRECT)
    mass = calibration_error(CONF, CORRECT, binning="mass")

    assert width.ece == pytest.approx(EXPECTED["ece_width10"], abs=1e-12)
    assert width.mce == pytest.approx(EXPECTED["mce_width10"], abs=1e-12)
    assert mass.ece == pytest.approx(EXPECTED["ece_mass10_stable_sort_array_split"], abs=1e-12)


def test_brier_and_its_parts_are_the_reference_ones():
    result = brier_score(CONF, CORRECT)

    assert result.value == pytest.approx(EXPECTED["brier"], abs=1e-12)
    assert result.reliability == pytest.approx(EXPECTED["brier_reliability"], abs=1e-12)
    assert result.resolution == pytest.approx(EXPECTED["brier_resolution"], abs=1e-12)
    assert result.uncertainty == pytest.approx(EXPECTED["brier_uncertainty"], abs=1e-12)


def test_discrimination_gives_the_reference_values():
    result = discrimination(CONF, CORRECT)

    assert result.auroc == pytest.approx(EXPECTED["auroc"], abs=1e-12)
    assert result.auprc_correct == pytest.approx(EXPECTED["auprc_correct"], abs=1e-12)
    assert result.auprc_error == pytest.approx(EXPECTED["auprc_error"], abs=1e-12)
    assert result.base_rate == pytest.approx(EXPECTED["acc"])


@pytest.mark.parametrize(
    ("certainty", "bin_of_ten"),
    [(0, 1), (1, 1), (10, 1), (11, 2), (30, 3), (70, 7), (71, 8), (80, 8), (81, 9), (100, 10)],
)
def test_a_certainty_lies_in_the_bin_that_its_tens_rounded_up_name(certainty, bin_of_ten):
    inside = [bin_of_ten * 10 - 5] * 3

    result = calibration_error([certainty, *inside], [1, 1, 1, 0])

    assert [b.n for b in result.bins] == [4]


def test_distinct_bins_hold_one_value_each_and_mass_bins_nearly_equal_numbers():
    certainty = np.repeat([50, 70, 80, 90], [3, 5, 1, 4])

    distinct = calibration_error(certainty, [1] * 13, binning="distinct")
    mass = calibration_error(certainty, [1] * 13, binning="mass", n_bins=4)

    assert [(b.low, b.high, b.n) for b in distinct.bins] == [
        (50, 50, 3),
        (70, 70, 5),
        (80, 80, 1),
        (90, 90, 4),
    ]
    assert [b.n for b in mass.bins] == [4, 3, 3, 3]


def test_half_scale_reads_no_certainty_as_a_coin_flip():
    result = calibration_error([0, 100], [1, 1], scale="half", binning="distinct")

    assert [b.confidence for b in result.bins] == [0.5, 1.0]


def test_answers_without_certainty_or_truth_are_left_out_and_counted():
    certainty, correct = [80, np.nan, 60, 90], [1, 1, -1, 0]

    for result in (
        calibration_error(certainty, correct),
        brier_score(certainty, correct),
    ):
        assert (result.n, result.n_missing) == (2, 2)


def test_without_answers_everything_is_undefined():
    for function in (calibration_error, brier_score, discrimination):
        assert function([np.nan], [1]).reason == "empty_group"


def test_discrimination_needs_ten_right_and_ten_wrong():
    certainty = np.arange(1, 20)

    result = discrimination(certainty, [1] * 10 + [0] * 9)

    assert (result.auroc, result.reason) == (None, "too_few_items")
    assert (result.n_right, result.n_wrong) == (10, 9)
    assert discrimination(np.arange(1, 21), [1] * 10 + [0] * 10).auroc == 0.0
