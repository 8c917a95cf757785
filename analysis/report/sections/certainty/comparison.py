"""Annotators' certainty compared with a run's: by item, by distribution, and by equal rules."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.verdicts import Verdicts, run_votes
from analysis.report.encode import Json, cell, number, put, put_estimate, put_interval
from analysis.report.section import RUN, Analysis, NumberSource, Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import run_names
from analysis.stats.certainty.general_correlation import general_spearman
from analysis.stats.certainty.human_llm import compare_certainty, compare_certainty_distributions
from analysis.stats.certainty.like_for_like import LikeForLike, PanelSide, like_for_like
from analysis.stats.core.results import Estimate

MAJORITY = 3


def compared_certainty(study: ReportedStudy, run: RunData, judge: Verdicts) -> Json:
    """Compare certainty item by item, as distributions, and by equal rules."""
    data, people, votes = study.data, study.people, study.votes
    pairs = compare_certainty(people.certainty, judge.certainty)
    # Distributions are compared answer by answer, because the mean of three annotators varies less
    # than one reply.
    spread = compare_certainty_distributions(votes.certainty, run.judgments.certainty)
    out: Json = {"items": pairs.n, "answers": spread.n_human, "judgments": spread.n_model}
    for key in ("pearson", "spearman", "kendall", "concordance"):
        put(out, key, number(getattr(pairs, key)), pairs.correlation_reason)
    reason = pairs.correlation_reason or ("too_few_items" if pairs.n < 10 else "no_variation")
    put_interval(out, "spearman_ci", pairs.spearman_interval, reason)
    general = general_spearman(people.certainty, judge.certainty, study.shared.items)
    without = general.interval_reason or general.reason
    put_interval(out, "spearman_general_ci", general.interval, without)
    put(out, "mean_difference", number(pairs.mean_difference), pairs.reason)
    put(out, "wilcoxon_p", number(pairs.wilcoxon_p), pairs.wilcoxon_reason)
    for key in ("ks", "ks_p", "wasserstein", "human_mean", "model_mean", "human_sd", "model_sd"):
        put(out, key, number(getattr(spread, key)), spread.reason)

    # One truth for both sides: a true tie counts if both could choose it.
    offers_tie = run.offers_tie and data.study.allow_tie
    truth = data.scored_truth(offers_tie=offers_tie).astype(np.int64)
    panel = like_for_like(
        votes,
        run_votes(data, run),
        truth,
        threshold=study.threshold,
        votes_per_item=MAJORITY,
        rng=study.rng(),
    )
    out["like_for_like"] = _panel(panel)
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


def like_for_like_table(report: Report) -> Table:
    people: list[list[Any]] = []
    judges: list[list[Any]] = []
    for name, versus in zip(run_names(report), report["comparison"], strict=True):
        panel = versus["certainty"]["like_for_like"]
        if versus["certainty"]["judgments"] == 0:
            continue
        for rows, key, label in (
            (people, "human_single", "One person"),
            (people, "human_majority", "Three people, majority"),
            (judges, "model_single", f"{name}, one reply"),
            (judges, "model_majority", f"{name}, three replies, majority"),
        ):
            side = panel[key]
            row = [label, side["overall"], side["high_share"], side["high"]]
            row += [side["matched_accuracy"], side["matched_accuracy_ci"]]
            # Annotators are the same for every run, unless a run scores true ties.
            if side["overall"]["n"] and row not in rows:
                rows.append(row)
    rows = people + judges
    columns = (
        TableColumn("Who"),
        TableColumn("Overall", "share"),
        TableColumn("Share high", "percent"),
        TableColumn("High", "share"),
        TableColumn("At people's coverage", "percent"),
        TableColumn("95 % interval", "percent_range"),
    )
    return Table(
        "like_for_like",
        "Like for like: one person with one reply, majority with majority",
        columns,
        rows,
        "The mean of three certainties varies less than one: equal judges look different when a "
        "majority is compared with a single reply. “At people's coverage”: accuracy of the most "
        "certain answers, as large a share of all as single people's high answers are; its "
        "interval allows for that share being estimated.",
    )


_BY_ITEM = (
    "pearson",
    "spearman",
    "kendall",
    "concordance",
    "mean_difference",
    "wilcoxon_p",
    "human_mean",
    "model_mean",
    "ks",
    "wasserstein",
)


def item_by_item(report: Report) -> Table:
    rows = []
    for name, versus in zip(run_names(report), report["comparison"], strict=True):
        found = versus["certainty"]
        if found["items"] and found["judgments"]:
            rows.append([name, found["items"], *(found[key] for key in _BY_ITEM)])
    columns = (
        TableColumn("Run"),
        TableColumn("Items", "count"),
        TableColumn("Pearson", "decimal", "Correlation over items"),
        TableColumn("Spearman", "decimal", "Correlation over items"),
        TableColumn("Kendall", "decimal", "Correlation over items"),
        TableColumn("Lin", "decimal", "Correlation over items"),
        TableColumn("mean", "number", "Judge less majority"),
        TableColumn("Wilcoxon p", "p", "Judge less majority"),
        TableColumn("people", "number", "Mean of single answers"),
        TableColumn("judge", "number", "Mean of single answers"),
        TableColumn("KS", "decimal", "Distance of distributions"),
        TableColumn("points", "number", "Distance of distributions"),
    )
    return Table(
        "certainty_by_item",
        "Certainty of judge and people, item by item and as distributions",
        columns,
        rows,
        "Item by item the majority's certainty is the mean of those who gave its answer; "
        "distributions are of single answers. Lin's concordance falls where one side is more "
        "certain throughout, which the other three do not see. Wilcoxon's test leaves out items "
        "on which both are equally certain.",
    )


class CertaintyComparison(Section):
    """The certainty of annotators next to that of every run."""

    name = "certainty_comparison"
    analyses = (
        Analysis(
            "certainty_beside",
            tables=("like_for_like", "high_sets", "interaction", "certainty_by_item", "by_band"),
            paths=("certainty_headline", "comparison.*.certainty", "comparison.*.by_band"),
            uses=("threshold", "resamples"),
        ),
    )
    sources = (NumberSource("comparison.*.certainty", "certainty_by_item", RUN),)

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {
            "comparison": [{"certainty": compared_certainty(study, *run)} for run in runs],
        }

    def tables(self, report: Report) -> Iterator[Table]:
        yield item_by_item(report)
        yield like_for_like_table(report)
