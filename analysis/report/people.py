"""What people got right, alone and by majority, and how far they agree."""

import numpy as np

from analysis.facts import MISSING, Dataset
from analysis.report.aggregation import aggregation
from analysis.report.certain import calibration, chapter
from analysis.report.certain_checks import scale_use
from analysis.report.encode import Json, cell, cells, ends, estimate, number, put, undefined
from analysis.report.position import on_side, single_order
from analysis.report.verdicts import Verdicts
from analysis.stats.accuracy import individual_accuracy, majority_accuracy
from analysis.stats.aggregation import unanimity
from analysis.stats.agreement import (
    brennan_prediger,
    fleiss_kappa,
    gwet_ac,
    percent_agreement,
)
from analysis.stats.alpha import certainty_alpha, krippendorff_alpha
from analysis.stats.quality import annotator_quality
from analysis.stats.resampling import bootstrap_agreement
from analysis.stats.results import Estimate
from analysis.stats.stereotype import shared_stereotype
from analysis.stats.votes import Votes

SHEET = 30  # items on one person's sheet in the source article's draw
MIN_EACH = 10  # right and wrong answers below which an area under the curve is chance
BINS_OF_DRAWS = 31  # a share of 30 takes one of 31 values


def people_entry(
    data: Dataset, verdicts: Verdicts, *, threshold: float, seed: int, draws: int
) -> Json:
    votes = verdicts.majority.votes
    truth = data.scored_truth(offers_tie=data.study.allow_tie).astype(np.int64)
    alone = correct_alone(votes, truth)
    majority = majority_accuracy(verdicts.majority, truth, threshold=threshold)
    individual = individual_accuracy(votes, truth, threshold=threshold)
    out: Json = {
        "annotators": len(data.raters),
        "answers": votes.n,
        "majority": cells(majority)
        | {
            "ties": verdicts.excluded["tie"],
            "no_truth": verdicts.excluded["no_truth"],
            "no_votes": verdicts.excluded["no_votes"],
            "calibration": calibration(verdicts.certainty, verdicts.correct),
            "certainty": chapter(
                verdicts.certainty, verdicts.correct, threshold=threshold, seed=seed, draws=draws
            ),
        },
        "individual": cells(individual)
        | {
            "no_truth": individual.excluded["no_truth"],
            "calibration": calibration(votes.certainty, alone),
            "certainty": chapter(
                votes.certainty, alone, threshold=threshold, seed=seed, draws=draws
            ),
        },
        "agreement": agreement(votes, seed=seed, draws=draws),
        "position": _position(data),
        "coverage": _coverage(verdicts),
        "people": dict(data.people),
        "not_counted": dict(data.not_counted),
        "pay": _pay(data, individual.overall.correct),
    }
    out["agreement"]["from_accuracy"] = _from_accuracy(
        out["agreement"]["percent"], individual.overall.value, majority.overall.value, votes
    )
    out["scale_use"] = scale_use(votes, alone)
    out["aggregation"] = aggregation(votes, truth)
    out["raters"] = _raters(data, votes, truth)
    return out


def agreement(votes: Votes, *, seed: int, draws: int) -> Json:
    """Every coefficient that is customary; each resample starts from the report's own seed."""

    def rng() -> np.random.Generator:
        return np.random.default_rng(seed)

    counts = votes.counts()
    percent = percent_agreement(counts, n_draws=draws, rng=rng())
    alpha = krippendorff_alpha(counts, n_draws=draws, rng=rng())
    fleiss = fleiss_kappa(counts)
    ac1 = gwet_ac(counts)
    brennan = brennan_prediger(counts)
    certainty = certainty_alpha(votes, n_draws=draws, rng=rng())
    same = unanimity(votes)

    out: Json = {}
    put(out, "percent", number(percent.value), percent.reason)
    put(out, "percent_ci", ends(percent.interval), percent.interval_reason or percent.reason)
    out["krippendorff_alpha"] = estimate(alpha)
    put(out, "fleiss_kappa", number(fleiss.value), fleiss.reason)
    put(out, "gwet_ac1", number(ac1.value), ac1.reason)
    put(out, "brennan_prediger", number(brennan.value), brennan.reason)
    put(out, "certainty_alpha", number(certainty.value), certainty.reason)
    put(
        out,
        "certainty_alpha_ci",
        ends(certainty.interval),
        certainty.interval_reason or certainty.reason,
    )
    out["unanimous"] = {"n": same.n, "unanimous": same.unanimous}
    put(out["unanimous"], "share", same.unanimous / same.n if same.n else None, "no_pairs")
    out["bootstrap"] = _sheets(votes, seed=seed, draws=draws)
    return out


def _sheets(votes: Votes, *, seed: int, draws: int) -> Json:
    result = bootstrap_agreement(votes, size=SHEET, n_draws=draws, rng=np.random.default_rng(seed))
    out: Json = {"unit": result.unit, "draws": result.n_draws, "size": result.size}
    put(out, "mean", number(result.mean), result.reason)
    put(out, "sd", number(result.sd), result.reason)
    put(out, "ci", ends(result.interval), result.reason)
    put(out, "expected_mean", number(result.expected_mean), result.reason)
    put(out, "expected_sd", number(result.expected_sd), result.reason)
    put(out, "standard_error", number(result.standard_error), result.reason or "too_few_items")
    out["items"], out["pairs"] = result.n_items, result.n_pairs
    hits = np.rint(result.draws * SHEET).astype(np.int64)
    out["histogram"] = np.bincount(hits, minlength=BINS_OF_DRAWS).tolist() if hits.size else []
    return out


def correct_alone(votes: Votes, truth: np.ndarray) -> np.ndarray:
    """Of each answer 1 right, 0 wrong, -1 without a truth to score it by."""
    own = truth[votes.item]
    return np.where(own >= 0, (votes.choice == own).astype(np.int64), MISSING)


def _from_accuracy(
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


def _position(data: Dataset) -> Json:
    answers = data.answers
    out = single_order(answers.choice, answers.shown_first, data.truth[answers.item])
    # A person answers an item once, in one order.
    out["both_orders"] = {"n": 0} | undefined("no_pairs", "consistency", "index", "p")
    return out


def _coverage(verdicts: Verdicts) -> dict[str, int]:
    """How many items have how many answers."""
    n, items = np.unique(verdicts.majority.n_votes, return_counts=True)
    return {str(votes): int(count) for votes, count in zip(n, items, strict=True)}


def _pay(data: Dataset, correct: int) -> Json:
    """Rewards of those who finished, before platform fees, and what a right answer cost."""
    finished = data.people.get("completed", 0)
    out: Json = {"currency": data.study.currency, "finished": finished}
    total = finished * data.study.reward / 100 if finished else None
    put(out, "rewards", total, "no_payments")
    put(
        out,
        "per_correct",
        total / correct if total is not None and correct else None,
        "no_payments",
    )
    return out


def _raters(data: Dataset, votes: Votes, truth: np.ndarray) -> list[Json]:
    """One row per person, by pseudonym: signs to look at, never grounds to reject."""
    known = (truth >= 0)[votes.item]
    right = votes.choice == truth[votes.item]
    stated = known & ~np.isnan(votes.certainty)
    n_right, n_wrong, n_sided, n_a = (
        np.bincount(votes.annotator[rows], minlength=len(data.raters))
        for rows in (stated & right, stated & ~right, *_sides(data, votes))
    )
    found = annotator_quality(votes, truth, seconds=data.answers.seconds)
    out = []
    for index, (pseudonym, quality) in enumerate(zip(data.raters, found, strict=True)):
        row: Json = {"rater": pseudonym, "answers": quality.n} | cell(quality.accuracy)
        others = quality.majority_agreement
        put(row, "with_others", number(others.value), others.reason)
        row["with_others_n"], row["others_tied"] = others.n, quality.others_tied
        for key in (
            "pair_agreement", "certainty_mean", "certainty_sd", "favourite_share", "median_seconds"
        ):  # fmt: skip
            measure = getattr(quality, key)
            put(row, key, number(measure.value), measure.reason)
        enough = min(n_right[index], n_wrong[index]) >= MIN_EACH
        area = quality.certainty_auroc if enough else Estimate(None, "too_few_items")
        put(row, "auroc", number(area.value), area.reason)
        put(row, "share_a", float(n_a[index] / n_sided[index]) if n_sided[index] else None)
        out.append(row)
    return out


def _sides(data: Dataset, votes: Votes) -> tuple[np.ndarray, np.ndarray]:
    """Answers whose side of the screen is known, and those on side A."""
    side = on_side(votes.choice, data.answers.shown_first)
    return side >= 0, side == 0
