"""Whatever the input: a finite number or a reason; arguments that make no sense are refused."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from analysis.stats import majority_vote
from extras.certainty.stats import (
    compare_certainty,
    compare_certainty_distributions,
    folds_by_key,
    held_out_threshold,
    like_for_like,
    matched_accuracy,
    threshold_sweep,
)
from tests.analysis.stats.test_undefined import check, rng, studies
from tests.sampling import examples

STATISTICS = {
    "compare_certainty": lambda s: compare_certainty(majority_vote(s.votes).certainty, s.certainty),
    "certainty_distributions": lambda s: compare_certainty_distributions(
        s.votes.certainty, s.certainty
    ),
    "threshold_sweep": lambda s: threshold_sweep(
        s.certainty, s.model_right, rng=rng(), n_draws=20, min_n=2
    ),
    "held_out": lambda s: held_out_threshold(
        s.certainty, s.model_right, np.arange(s.model.size) % 2 == 0, target=0.5, min_n=1
    ),
    "like_for_like": lambda s: like_for_like(s.votes, s.runs, s.truth, rng=rng()),
}


@pytest.mark.parametrize("name", STATISTICS)
@given(study=studies())
@settings(
    max_examples=examples(15, every=60),
    suppress_health_check=[HealthCheck.too_slow],
)
def test_every_result_is_a_finite_number_or_has_a_reason(name, study):
    check(name, STATISTICS[name](study))


REFUSED = [
    (lambda: compare_certainty([80], [80, 90]), "differ in length"),
    (lambda: compare_certainty_distributions([101], [80]), "between 0 and 100"),
    (
        lambda: matched_accuracy(
            [90], [1], {"item": [0]}, reference_high=[1], reference_clusters={"person": [0]}
        ),
        "same names",
    ),
    (lambda: folds_by_key(["a"], 1), "n_folds"),
    (lambda: threshold_sweep([80], [1], n_draws=1, rng=rng()), "n_draws"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_arguments_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
