"""Whatever the input: a finite number or a reason; arguments that make no sense are refused."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from analysis.stats import Votes
from extras.judges_compared.stats import (
    human_likeness,
    leave_one_out,
)
from tests.analysis.stats.test_undefined import check, rng, studies
from tests.sampling import examples

STATISTICS = {
    "leave_one_out": lambda s: leave_one_out(s.votes, s.model),
    "human_likeness": lambda s: human_likeness(
        s.votes, s.model, rng=rng(), n_draws=20, min_common=2
    ),
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
    (
        lambda: human_likeness(
            Votes.from_matrix([[0, 1]] * 30), [0] * 30, rng=np.random.default_rng(0), n_draws=1
        ),
        "n_draws",
    ),
    (
        lambda: human_likeness(
            Votes.from_matrix([[0, 1]] * 30), [0] * 30, rng=np.random.default_rng(0), min_common=1
        ),
        "min_common",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_arguments_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
