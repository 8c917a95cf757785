"""What people got right, alone and by majority, and how far they agree."""

from functools import partial

import numpy as np

from analysis.data.arrays import MISSING, Dataset
from analysis.data.verdicts import Floats, Verdicts, people_votes
from analysis.report.encode import Json, cell, cells, put, put_interval, undefined
from analysis.report.sections.agreement.aggregation import aggregation
from analysis.report.sections.agreement.coefficients import agreement, from_accuracy
from analysis.report.sections.certainty.calibration import calibration, chapter
from analysis.report.sections.certainty.validation import scale_use
from analysis.report.sections.position.sides import single_order
from analysis.report.sections.record.annotators import raters
from analysis.stats.accuracy.bands import individual_accuracy, majority_accuracy
from analysis.stats.core.bootstrap import pigeonhole_bootstrap
from analysis.stats.core.votes import Votes
from analysis.stats.labels.aggregation import majority_vote
from studies.money import major_units

# What is measured again with the people who were excluded.
BEFORE = ("majority", "individual")
# Every draw weighs every answer: beyond so many it takes longer than it tells.
PIGEONHOLE_ANSWERS = 100_000


def people_entry(
    data: Dataset, verdicts: Verdicts, *, threshold: float, seed: int, draws: int
) -> Json:
    votes = verdicts.majority.votes
    truth = data.scored_truth(offers_tie=data.study.allow_tie).astype(np.int64)
    alone = correct_alone(votes, truth)
    majority, majority_compat = (
        majority_accuracy(verdicts.majority, truth, threshold=threshold, paper_compat=paper)
        for paper in (False, True)
    )
    individual, individual_compat = (
        individual_accuracy(votes, truth, threshold=threshold, paper_compat=paper)
        for paper in (False, True)
    )
    out: Json = {
        "annotators": len(data.raters),
        "answers": votes.n,
        "majority": cells(majority, majority_compat)
        | {
            "ties": verdicts.excluded["tie"],
            "no_truth": verdicts.excluded["no_truth"],
            "no_votes": verdicts.excluded["no_votes"],
            "calibration": calibration(verdicts.certainty, verdicts.correct),
            "certainty": chapter(
                verdicts.certainty, verdicts.correct, threshold=threshold, seed=seed, draws=draws
            ),
        },
        "individual": cells(individual, individual_compat)
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
        "before_exclusions": _before_exclusions(data, truth, threshold=threshold),
        "quotas": [
            {"group": group, "wanted": wanted, "finished": finished}
            for group, wanted, finished in data.quotas
        ],
        "checks": _checks(data),
        "pay": _pay(data, individual.overall.correct),
    }
    _add_pigeonhole(out["individual"], votes, alone, threshold=threshold, seed=seed, draws=draws)
    out["agreement"]["from_accuracy"] = from_accuracy(
        out["agreement"]["percent"], individual.overall.value, majority.overall.value, votes
    )
    out["scale_use"] = scale_use(votes, alone)
    out["aggregation"], labels = aggregation(votes, truth, seed=seed)
    out["raters"] = raters(data, votes, truth, labels)
    return out


def _add_pigeonhole(
    single: Json, votes: Votes, alone: np.ndarray, *, threshold: float, seed: int, draws: int
) -> None:
    """A second interval of single answers in either band, by drawing items and people anew."""
    scored = alone >= 0
    bands = (
        ("high", scored & (votes.certainty >= threshold)),
        ("low", scored & (votes.certainty < threshold)),
    )
    for band, rows in bands:
        if votes.n > PIGEONHOLE_ANSWERS:
            put_interval(single[band], "pigeonhole_ci", None, "too_large")
            continue
        if np.unique(votes.annotator[rows]).size == 1:
            put_interval(single[band], "pigeonhole_ci", None, "too_few_annotators")
            continue
        right = alone[rows].astype(np.float64)
        if right.size and right.min() == right.max():
            # Resamples of what is all the same are all the same: that is no certainty.
            put_interval(single[band], "pigeonhole_ci", None, "no_variation")
            continue
        found = pigeonhole_bootstrap(
            partial(_share, right),
            votes.item[rows],
            votes.annotator[rows],
            n_draws=draws,
            rng=np.random.default_rng(seed),
        )
        reason = found.interval_reason or found.reason
        put_interval(single[band], "pigeonhole_ci", found.interval, reason)


def _share(right: Floats, weights: Floats) -> Floats:
    """Share of right answers under each row of weights."""
    return np.asarray(weights @ right / weights.sum(axis=1), dtype=np.float64)


def correct_alone(votes: Votes, truth: np.ndarray) -> np.ndarray:
    """Of each answer 1 right, 0 wrong, -1 without a truth to score it by."""
    own = truth[votes.item]
    return np.where(own >= 0, (votes.choice == own).astype(np.int64), MISSING)


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


def _before_exclusions(data: Dataset, truth: np.ndarray, *, threshold: float) -> Json:
    """Accuracy as it was with the people whom researchers excluded by hand."""
    out: Json = {"annotators": len(data.raters) + len(data.set_aside_raters)}
    if data.set_aside is None:
        return out | {"answers": len(data.answers)} | undefined("no_exclusions", *BEFORE)
    votes = people_votes(data, with_excluded=True)
    majority = majority_accuracy(majority_vote(votes), truth, threshold=threshold)
    individual = individual_accuracy(votes, truth, threshold=threshold)
    found = zip(BEFORE, (majority.overall, individual.overall), strict=True)
    return out | {"answers": votes.n} | {name: cell(share) for name, share in found}


def _checks(data: Dataset) -> dict[str, int]:
    """Attention checks shown to the people who count, and how many were failed."""
    seen = [shown for shown, _ in data.attention]
    return {
        "people": sum(shown > 0 for shown in seen),
        "seen": sum(seen),
        "failed": sum(failed for _, failed in data.attention),
    }


def _pay(data: Dataset, correct: int) -> Json:
    """Rewards of those who finished, before platform fees, and what a right answer cost."""
    finished = data.people.get("completed", 0)
    out: Json = {"currency": data.study.currency, "finished": finished}
    currency = data.study.currency
    total = float(major_units(finished * data.study.reward, currency)) if finished else None
    put(out, "rewards", total, "no_payments")
    put(
        out,
        "per_correct",
        total / correct if total is not None and correct else None,
        "no_payments",
    )
    return out
