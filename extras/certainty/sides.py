"""Certainty of people and of a judge, like for like."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.verdicts import run_votes
from analysis.report.report_json import Json, cell, put, put_estimate
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn, without_interval
from analysis.report.words import run_names
from analysis.stats.core.results import Estimate
from extras.certainty.stats import LikeForLike, PanelSide, like_for_like

MAJORITY = 3


def compared(study: ReportedStudy, run: RunData) -> Json:
    """Single answers and majorities of both sides, at the same coverage."""
    data = study.data
    # One truth for both sides: a true tie counts if both could choose a tie.
    offers_tie = run.offers_tie and data.study.allow_tie
    truth = data.scored_truth(offers_tie=offers_tie).astype(np.int64)
    panel = like_for_like(
        study.votes,
        run_votes(data, run),
        truth,
        threshold=study.threshold,
        votes_per_item=MAJORITY,
        rng=study.rng(),
    )
    return _panel(panel)


def _panel(panel: LikeForLike) -> Json:
    out: Json = {"votes_per_item": panel.votes_per_item}
    put(out, "coverage", panel.coverage)
    for name in ("human_single", "model_single", "human_majority", "model_majority"):
        out[name] = _side(getattr(panel, name))
    return out


def _side(side: PanelSide) -> Json:
    out: Json = {"overall": cell(side.overall), "high": cell(side.high)}
    out |= {"ties": side.n_ties, "no_certainty": side.n_no_certainty}
    put(out, "high_share", side.high_share, side.reason)
    matched = side.matched if side.reason is None else Estimate(None, side.reason)
    put_estimate(out, "matched_accuracy", matched)
    return out


def like_for_like_table(report: ReportJson) -> Table:
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
            row = [label, without_interval(side["overall"]), side["high_share"]]
            row.append(without_interval(side["high"]))
            row += [side["matched_accuracy"], side["matched_accuracy_ci"]]
            # Annotators' values are the same for every run, unless a run scores true ties.
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
        "The mean of three certainties varies less than one, so equal judges look different if a "
        "majority is compared with a single reply. “At people's coverage”: accuracy of the most "
        "certain answers, taking the same share as people's high single answers; its interval "
        "allows for the estimation of this share.",
    )


class LikeForLikeSection(Section):
    """Single answers with single replies, and majorities with majorities."""

    name = "like_for_like"
    analyses = (Analysis("certainty_beside", tables=("like_for_like",)),)
    shows = ("like_for_like", "by_band")
    keys = """
like_for_like | object | Single answers and majorities of both sides, like with like.
votes_per_item | count | Judgments of an item that make a majority.
human_single | object | Single answers of people.
human_majority | object | Majorities of people.
model_single | object | Single judgments.
model_majority | object | Majorities of judgments.
high_share | share | Share of answers with high certainty.
matched_accuracy | share | Accuracy of as many of the most certain answers as on the other side.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        panels = [compared(study, run) for run in study.data.runs]
        return {"comparison": [{"certainty": {"like_for_like": panel}} for panel in panels]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield like_for_like_table(report)


LIKE_FOR_LIKE = LikeForLikeSection()
