"""Arguments that make no sense are refused by name, by every statistic that people can call."""

import numpy as np
import pytest

from analysis.stats import (
    Sharing,
    Votes,
    accuracy_at_coverage,
    accuracy_bounds,
    alt_test,
    annotator_quality,
    answer_accuracy,
    brier_score,
    calibration_error,
    compare_groups,
    difference_bounds,
    errors_by_group,
    expected_agreement,
    fleiss_kappa,
    general_difference,
    gwet_ac,
    individual_accuracy,
    krippendorff_alpha,
    multiway_variance,
    newcombe_interval,
    percent_agreement,
    pooled_replacement_test,
    position_bias,
    position_bias_single_order,
    shared_stereotype,
    verbosity_bias,
)
from analysis.stats.comparison.differences import equivalence
from analysis.stats.comparison.paired import PairedCounts, count_pairs, tango_interval
from analysis.stats.comparison.probes import probe_effect
from analysis.stats.core.proportions import constant_interval

REFUSED = [
    (lambda: answer_accuracy([2], [1]), "`answer` holds option 2, of 2 options"),
    (
        lambda: individual_accuracy(Votes.from_matrix([[0], [0]]), [0]),
        "`truth` has 1 items, `votes` has 2",
    ),
    (lambda: percent_agreement([1, 2]), r"items by options, got shape \(2,\)"),
    (lambda: fleiss_kappa([[3, -1]]), "must not be negative"),
    (lambda: gwet_ac([[0.5, 1.5]]), "whole numbers"),
    (lambda: gwet_ac([[1, 1]], weights="cubic"), "must be one of identity, linear"),
    (lambda: expected_agreement(59.6), r"`accuracy` must lie in 0\.\.1, got 59\.6"),
    (lambda: shared_stereotype(0.6, 0.6, n_annotators=4), "must be odd, got 4"),
    (
        lambda: krippendorff_alpha([[1, 1]], metric="circular"),
        "must be one of nominal, ordinal, interval, ratio",
    ),
    (
        lambda: krippendorff_alpha([[1, 1]], resample="annotators"),
        "`resample` must be items or pairs",
    ),
    (
        lambda: krippendorff_alpha([[1, 1], [2, 0]], metric="interval", values=[1, 2, 3]),
        "`values` must have length 2",
    ),
    (lambda: alt_test(Votes.from_matrix([[0, 1]] * 30), [0] * 29, epsilon=0.1), "must have shape"),
    (
        lambda: alt_test(Votes.from_matrix([[0, 1]] * 30), [2] * 30, epsilon=0.1),
        r"must lie in -1\.\.1",
    ),
    (lambda: alt_test(Votes.from_matrix([[0, 1]] * 30), [0] * 30, epsilon=1.0), "epsilon"),
    (
        lambda: alt_test(Votes.from_long([0, 0], [0, 0], [0, 1]), [0], epsilon=0.1),
        "several choices",
    ),
    (lambda: constant_interval(1.2, 10), "`value` must lie"),
    (lambda: position_bias([2], [0]), "hold only"),
    (lambda: position_bias([1], [0, 1]), "differ in length"),
    (lambda: position_bias_single_order(np.zeros(2), np.zeros(3)), "differ in length"),
    (lambda: accuracy_bounds(5, 4, 0), "Counts out of range"),
    (lambda: accuracy_bounds(1, 4, -1), "Counts out of range"),
    (lambda: difference_bounds([1], [1, 0]), "differ in length"),
    (lambda: brier_score([101], [1]), "between 0 and 100"),
    (lambda: brier_score([80], [2]), "may hold only"),
    (lambda: brier_score([80, 90], [1]), "equally long"),
    (lambda: calibration_error([80], [1], binning="quantile"), "binning"),
    (lambda: calibration_error([80], [1], scale="log"), "scale"),
    (lambda: calibration_error([80], [1], n_bins=0), "n_bins"),
    (lambda: equivalence(PairedCounts(b=1, c=1, n=10), margin=0), "margin"),
    (lambda: equivalence(PairedCounts(b=1, c=1, n=10), alpha=0.5), "alpha"),
    (
        lambda: general_difference([1.0], Sharing.of_items(2, {}, Votes.from_matrix([[0], [1]]))),
        "must have shape",
    ),
    (
        lambda: general_difference(
            [1.0, 0.0], Sharing.of_items(2, {}, Votes.from_matrix([[0], [1]])), margin=0
        ),
        "margin",
    ),
    (lambda: errors_by_group([1.0], [0, 1], [0, 1]), "one length"),
    (lambda: errors_by_group([1.0, 0.0], [0, 1], [3, 3]), "two groups"),
    (lambda: compare_groups([1], [0, 1]), "`correct` has 1 rows, `group` has 2"),
    (lambda: newcombe_interval(3, 2, 0, 1), "Counts out of range"),
    (
        lambda: pooled_replacement_test(Votes.from_matrix([[0, 0]] * 3), [0] * 3, epsilon=-0.1),
        "epsilon",
    ),
    (
        lambda: pooled_replacement_test(
            Votes.from_matrix([[0, 0]] * 3), [0] * 3, epsilon=0.1, alpha=0
        ),
        "alpha",
    ),
    (lambda: multiway_variance([1, 0], {}), "at least one clustering"),
    (lambda: multiway_variance([1, 0], {"item": [1]}), "has 1 rows, the values 2"),
    (lambda: count_pairs([2], [1]), "may hold only 1"),
    (lambda: count_pairs([1, 0], [1]), "equally long"),
    (lambda: PairedCounts(b=5, c=6, n=10), "fit into `n`"),
    (lambda: tango_interval(PairedCounts(b=0, c=0, n=0)), "no item"),
    (lambda: tango_interval(PairedCounts(b=1, c=1, n=9), 1.0), "level"),
    (lambda: probe_effect([0, 1], [1], [0, 1], {}), "equally long"),
    (
        lambda: annotator_quality(Votes.from_matrix([[0, 1]]), seconds=[1.0]),
        r"`seconds` must have one value per vote \(2\)",
    ),
    (
        lambda: annotator_quality(Votes.from_matrix([[0, 1]]), [0, 1]),
        "`truth` has 2 items, `votes` has 1",
    ),
    (lambda: accuracy_at_coverage([80], [1], 0), "coverage"),
    (lambda: verbosity_bias([1], [2, 3], [0], [0]), "must have one length"),
    (lambda: Votes.from_matrix([[0]], n_options=1), "`n_options` must be at least 2, got 1"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_arguments_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
