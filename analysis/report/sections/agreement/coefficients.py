"""How far people agree: in what they choose, in how certain they are, and beyond their accuracy."""

from collections.abc import Callable

import numpy as np

from analysis.data.arrays import TIE
from analysis.report.encode import (
    Json,
    estimate,
    number,
    pick,
    put,
    put_estimate,
    put_interval,
    undefined,
)
from analysis.stats.agreement.alpha import certainty_alpha, krippendorff_alpha
from analysis.stats.agreement.coefficients import (
    brennan_prediger,
    certainty_band_counts,
    fleiss_kappa,
    gwet_ac,
    percent_agreement,
)
from analysis.stats.agreement.stereotype import shared_stereotype
from analysis.stats.core.resampling import bootstrap_agreement
from analysis.stats.core.votes import Votes
from analysis.stats.labels.aggregation import unanimity

SHEET = 30  # items on one person's sheet in the source article's draw
BINS_OF_DRAWS = 31  # a share of 30 takes one of 31 values


def agreement(votes: Votes, *, seed: int, draws: int) -> Json:
    """Every coefficient that is customary; each resample starts from the report's own seed."""

    def rng() -> np.random.Generator:
        return np.random.default_rng(seed)

    counts = votes.counts()
    out: Json = {}
    put_estimate(out, "percent", percent_agreement(counts, n_draws=draws, rng=rng()))
    out["krippendorff_alpha"] = estimate(krippendorff_alpha(counts, n_draws=draws, rng=rng()))
    pairs = krippendorff_alpha(counts, resample="pairs", n_draws=draws, rng=rng())
    reason = pairs.interval_reason or pairs.reason
    put_interval(out["krippendorff_alpha"], "pairs_ci", pairs.interval, reason)
    for key, coefficient in (
        ("fleiss_kappa", fleiss_kappa),
        ("gwet_ac1", gwet_ac),
        ("brennan_prediger", brennan_prediger),
    ):
        put_estimate(out, key, coefficient(counts, n_draws=draws, rng=rng()))
    out["without_ties"] = _without_ties(votes, rng, draws)
    put_estimate(out, "certainty_alpha", certainty_alpha(votes, n_draws=draws, rng=rng()))
    ordinal = certainty_alpha(votes, metric="ordinal", n_draws=draws, rng=rng())
    put_estimate(out, "certainty_alpha_ordinal", ordinal)
    bands = certainty_band_counts(votes)
    ac2 = gwet_ac(bands, weights="quadratic", n_draws=draws, rng=rng())
    put_estimate(out, "certainty_bands_ac2", ac2)
    same = unanimity(votes)
    out["unanimous"] = {"n": same.n, "unanimous": same.unanimous, "single": same.single}
    put(out["unanimous"], "share", same.unanimous / same.n if same.n else None, "no_pairs")
    out["bootstrap"] = _sheets(votes, seed=seed, draws=draws)
    steadier = bootstrap_agreement(votes, unit="all_pairs", size=SHEET, n_draws=draws, rng=rng())
    out["bootstrap"]["all_pairs"] = pick(steadier, {"mean": "mean", "sd": "sd"})
    return out


def _without_ties(votes: Votes, rng: Callable[[], np.random.Generator], draws: int) -> Json:
    """Alpha of the answers that name a response, where a tie could be said too."""
    if votes.n_options == 2:
        return undefined("not_offered", "value", "ci")
    counts = votes.take(votes.choice != TIE).counts()[:, :2]
    return estimate(krippendorff_alpha(counts, n_draws=draws, rng=rng()))


def _sheets(votes: Votes, *, seed: int, draws: int) -> Json:
    result = bootstrap_agreement(votes, size=SHEET, n_draws=draws, rng=np.random.default_rng(seed))
    out: Json = {"unit": result.unit, "draws": result.n_draws, "size": result.size}
    put(out, "mean", number(result.mean), result.reason)
    put(out, "sd", number(result.sd), result.reason)
    put_interval(out, "ci", result.interval, result.reason or "no_variation")
    put(out, "expected_mean", number(result.expected_mean), result.reason)
    put(out, "expected_sd", number(result.expected_sd), result.reason)
    put(out, "standard_error", number(result.standard_error), result.reason or "too_few_items")
    out["items"], out["pairs"] = result.n_items, result.n_pairs
    hits = np.rint(result.draws * SHEET).astype(np.int64)
    out["histogram"] = np.bincount(hits, minlength=BINS_OF_DRAWS).tolist() if hits.size else []
    return out


def from_accuracy(
    observed: float | None, accuracy: float | None, majority: float | None, votes: Votes
) -> Json:
    """What independent errors would give, and what a guess that all share predicts."""
    out: Json = {}
    if observed is None or accuracy is None or votes.n_options != 2:
        reason = "not_offered" if votes.n_options != 2 else "empty_group"
        return undefined(reason, "agreement", "follows", "right", "majority")
    model = shared_stereotype(observed, accuracy)
    out["agreement"] = number(model.agreement_from_accuracy)
    put(out, "follows", number(model.follows), model.reason)
    put(out, "right", number(model.right), model.reason)
    put(out, "majority", number(model.majority_accuracy.value), model.majority_accuracy.reason)
    put(out, "majority_observed", number(majority), "empty_group")
    return out
