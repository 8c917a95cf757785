"""People's certainty beside a run's: the chapter that the comparison stands or falls with."""

import numpy as np

from analysis.data.arrays import Dataset, Run
from analysis.data.verdicts import Verdicts, run_votes
from analysis.report.encode import (
    Json,
    cell,
    estimate,
    number,
    put,
    put_estimate,
    put_interval,
)
from analysis.stats.certainty.high_sets import HighSets, compare_high_sets
from analysis.stats.certainty.human_llm import compare_certainty, compare_certainty_distributions
from analysis.stats.certainty.like_for_like import LikeForLike, PanelSide, like_for_like
from analysis.stats.core.results import Estimate

MAJORITY = 3


def certainty_beside(
    data: Dataset,
    run: Run,
    judge: Verdicts,
    people: Verdicts,
    *,
    threshold: float,
    seed: int,
    draws: int,
) -> Json:
    """Item by item, as distributions, by equal rules, and on each side's own high items."""
    votes = people.majority.votes
    pairs = compare_certainty(people.certainty, judge.certainty)
    # Distributions are compared answer by answer: the mean of three people varies less than one
    # reply, whoever gives it.
    spread = compare_certainty_distributions(votes.certainty, run.judgments.certainty)
    out: Json = {"items": pairs.n, "answers": spread.n_human, "judgments": spread.n_model}
    for key in ("pearson", "spearman", "kendall", "concordance"):
        put(out, key, number(getattr(pairs, key)), pairs.correlation_reason)
    reason = pairs.correlation_reason or ("too_few_items" if pairs.n < 10 else "no_variation")
    put_interval(out, "spearman_ci", pairs.spearman_interval, reason)
    put(out, "mean_difference", number(pairs.mean_difference), pairs.reason)
    put(out, "wilcoxon_p", number(pairs.wilcoxon_p), pairs.wilcoxon_reason)
    for key in ("ks", "ks_p", "wasserstein", "human_mean", "model_mean", "human_sd", "model_sd"):
        put(out, key, number(getattr(spread, key)), spread.reason)

    # One truth for both sides: a true tie counts where both could have said so.
    offers_tie = run.offers_tie and data.study.allow_tie
    truth = data.scored_truth(offers_tie=offers_tie).astype(np.int64)
    panel = like_for_like(
        votes,
        run_votes(data, run),
        truth,
        threshold=threshold,
        votes_per_item=MAJORITY,
        rng=np.random.default_rng(seed),
    )
    out["like_for_like"] = _panel(panel)
    out["high_sets"] = _high_sets(
        compare_high_sets(
            people.certainty,
            people.correct,
            judge.certainty,
            judge.correct,
            threshold=threshold,
            rng=np.random.default_rng(seed),
            n_draws=draws,
        )
    )
    return out


def _panel(panel: LikeForLike) -> Json:
    out: Json = {"votes_per_item": panel.votes_per_item}
    put(out, "coverage", number(panel.coverage))
    for name in ("human_single", "model_single", "human_majority", "model_majority"):
        out[name] = _side(getattr(panel, name))
    return out


def _side(side: PanelSide) -> Json:
    out: Json = {"overall": cell(side.overall), "high": cell(side.high)}
    out |= {"ties": side.n_ties, "no_certainty": side.n_no_certainty}
    put(out, "high_share", number(side.high_share), side.reason)
    matched = side.matched if side.reason is None else Estimate(None, side.reason)
    put_estimate(out, "matched_accuracy", matched)
    return out


def _high_sets(sets: HighSets) -> Json:
    """Each side on its own high items, and both on the four sets that these cut."""
    return {
        "n": sets.n,
        "difference": estimate(sets.difference),
        "judge_on_own": cell(sets.model_on_own),
        "people_on_own": cell(sets.human_on_own),
        "cells": {
            name: {"people": cell(people), "judge": cell(judge)}
            for name, (people, judge) in sets.cells.items()
        },
    }
