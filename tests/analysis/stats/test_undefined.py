"""Whatever the input: no NaN, no infinity, a reason for everything that is undefined.

And no interval that has no width or leaves out its own estimate.
"""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import analysis.stats as stats
from analysis.stats import Estimate, Interval, Proportion, Votes
from tests.sampling import examples

LABELS = st.integers(1, 6).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([-1, 0, 0, 1]), min_size=width, max_size=width),
        min_size=0,
        max_size=12,
    )
)


def numbers(result, path):
    """Every number in a result, however deep, with where it stands; arrays are left out."""
    if dataclasses.is_dataclass(result):
        for field in dataclasses.fields(result):
            yield from numbers(getattr(result, field.name), f"{path}.{field.name}")
    elif isinstance(result, Mapping):
        for key, value in result.items():
            yield from numbers(value, f"{path}[{key!r}]")
    elif isinstance(result, list | tuple):
        for position, value in enumerate(result):
            yield from numbers(value, f"{path}[{position}]")
    elif isinstance(result, float | int):
        yield path, result


def estimates(result):
    """Every estimate and proportion in a result."""
    if isinstance(result, Estimate | Proportion):
        yield result
    elif dataclasses.is_dataclass(result):
        for field in dataclasses.fields(result):
            yield from estimates(getattr(result, field.name))
    elif isinstance(result, Mapping):
        for value in result.values():
            yield from estimates(value)
    elif isinstance(result, list | tuple):
        for value in result:
            yield from estimates(value)


def check(name, result):
    for path, number in numbers(result, name):
        assert math.isfinite(number), path
    for estimate in estimates(result):
        assert (estimate.value is None) == (estimate.reason is not None), name
        if estimate.interval is not None:
            interval = estimate.interval
            assert isinstance(interval, Interval)
            assert interval.low <= estimate.value <= interval.high, (name, interval)
            assert interval.high - interval.low > 1e-9, (name, interval)
    reason = getattr(result, "reason", None)
    assert reason is None or isinstance(reason, str)


@dataclasses.dataclass(frozen=True)
class Study:
    """A small study of any shape: people, a model with runs, truth and certainties."""

    votes: Votes
    runs: Votes
    truth: np.ndarray
    model: np.ndarray
    certainty: np.ndarray

    @property
    def model_right(self):
        known = (self.model >= 0) & (self.truth >= 0)
        return np.where(known, (self.model == self.truth).astype(int), -1)

    @property
    def people_right(self):
        answer = stats.majority_vote(self.votes).answer
        known = (answer >= 0) & (self.truth >= 0)
        return np.where(known, (answer == self.truth).astype(int), -1)


@st.composite
def studies(draw):
    rows = draw(LABELS)
    labels = np.array(rows, dtype=int) if rows else np.empty((0, 3), dtype=int)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    n = len(labels)

    def certainties(shape):
        values = rng.choice([1.0, 50.0, 80.0, 100.0], shape)
        values[rng.random(shape) < 0.2] = np.nan
        return values

    runs = rng.choice([-1, 0, 1], (n, draw(st.integers(1, 4))))
    return Study(
        votes=Votes.from_matrix(labels, certainties(labels.shape)),
        runs=Votes.from_matrix(runs, certainties(runs.shape)),
        truth=rng.choice([-1, 0, 1], n),
        model=rng.choice([-1, 0, 1], n),
        certainty=certainties(n),
    )


def rng():
    return np.random.default_rng(1)


def pairs(s):
    return stats.count_pairs(s.model_right, s.people_right)


def clusters(s):
    return {"item": s.votes.item, "annotator": s.votes.annotator}


def vote_right(s):
    return (s.votes.choice == s.truth[s.votes.item]).astype(int)


STATISTICS = {
    "unanimity": lambda s: stats.unanimity(s.votes),
    "annotator_quality": lambda s: stats.annotator_quality(s.votes, s.truth),
    "individual_accuracy": lambda s: stats.individual_accuracy(s.votes, s.truth),
    "majority_accuracy": lambda s: stats.majority_accuracy(stats.majority_vote(s.votes), s.truth),
    "tie_credit": lambda s: stats.tie_credit_accuracy(
        stats.majority_vote(s.votes, ties="half"), s.truth
    ),
    "answer_accuracy": lambda s: stats.answer_accuracy(s.model, s.truth, s.certainty),
    "multiway_proportion": lambda s: stats.multiway_proportion(vote_right(s), clusters(s)),
    "multiway_mean": lambda s: stats.multiway_mean(vote_right(s).astype(float), clusters(s)),
    "compare_groups": lambda s: stats.compare_groups(
        np.repeat(vote_right(s), 20),
        np.repeat(s.votes.annotator, 20),
        clusters={k: np.repeat(v, 20) for k, v in clusters(s).items()},
    ),
    "difference_bounds": lambda s: stats.difference_bounds(s.model_right, s.people_right),
    "percent_agreement": lambda s: stats.percent_agreement(s.votes.counts(), rng=rng(), n_draws=20),
    "alpha": lambda s: stats.krippendorff_alpha(s.votes.counts(), rng=rng(), n_draws=20),
    "certainty_alpha": lambda s: [
        stats.certainty_alpha(s.votes, metric=m, rng=rng(), n_draws=20)
        for m in ("interval", "ordinal", "nominal", "ratio")
    ],
    "fleiss": lambda s: stats.fleiss_kappa(s.votes.counts(), rng=rng(), n_draws=20),
    "brennan_prediger": lambda s: stats.brennan_prediger(s.votes.counts(), rng=rng(), n_draws=20),
    "gwet": lambda s: stats.gwet_ac(s.votes.counts(), rng=rng(), n_draws=20),
    "cohen": lambda s: stats.cohen_kappa(s.model, stats.majority_vote(s.votes).answer),
    "bootstrap_agreement": lambda s: stats.bootstrap_agreement(
        s.votes, size=3, n_draws=20, rng=rng()
    ),
    "mcnemar": lambda s: stats.mcnemar(pairs(s)),
    "paired_difference": lambda s: stats.paired_difference(pairs(s)),
    "equivalence": lambda s: stats.equivalence(pairs(s)),
    "alt_test": lambda s: stats.alt_test(s.votes, s.model, epsilon=0.1, min_items=2),
    "alt_test_certainty": lambda s: stats.alt_test_certainty(
        s.votes, s.certainty, epsilon=0.1, min_items=2
    ),
    "pooled_replacement": lambda s: stats.pooled_replacement_test(s.votes, s.model, epsilon=0.1),
    "run_noise": lambda s: stats.run_noise(s.runs, s.truth, rng=rng(), n_draws=20),
    "change": lambda s: stats.change_beyond_noise(s.runs, s.votes, rng=rng(), n_draws=20),
    "calibration": lambda s: [
        stats.calibration_error(s.certainty, s.model_right, binning=b)
        for b in ("width", "distinct", "mass")
    ],
    "brier": lambda s: stats.brier_score(s.certainty, s.model_right),
    "discrimination": lambda s: stats.discrimination(s.certainty, s.model_right, min_each=1),
    "risk_coverage": lambda s: stats.risk_coverage(s.certainty, s.model_right),
    "check_threshold": lambda s: stats.check_threshold(s.certainty, s.model_right, 80),
    "high_sets": lambda s: stats.compare_high_sets(
        stats.majority_vote(s.votes).certainty,
        s.people_right,
        s.certainty,
        s.model_right,
        rng=rng(),
        n_draws=20,
    ),
    "position_bias": lambda s: stats.position_bias(s.model, s.truth),
    "position_bias_single_order": lambda s: stats.position_bias_single_order(s.model, s.truth),
    "self_preference": lambda s: stats.self_preference(s.model, s.truth),
    "verbosity_bias": lambda s: stats.verbosity_bias(
        np.arange(s.model.size), np.arange(s.model.size)[::-1], s.model, s.truth
    ),
}


@pytest.mark.sampled(keep=10)
@pytest.mark.parametrize("name", STATISTICS)
@given(study=studies())
@settings(max_examples=examples(15, every=60))
def test_every_result_is_a_finite_number_or_has_a_reason(name, study):
    check(name, STATISTICS[name](study))
