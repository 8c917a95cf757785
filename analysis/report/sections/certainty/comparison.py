"""Compare certainty of annotators and a run: by item, and where each is certain."""

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.data.arrays import Floats, RunData
from analysis.data.verdicts import Verdicts
from analysis.report.quantities import bare, say
from analysis.report.report_json import Json, cell, estimate, put, put_interval, why
from analysis.report.section import RUN, Analysis, NumberSource, ReportJson, Section
from analysis.report.study import IN_GENERAL, ReportedStudy, families
from analysis.report.tables import (
    CONDITIONAL,
    Table,
    TableColumn,
    as_best,
    without_interval,
)
from analysis.report.words import run_names
from analysis.stats.accuracy.general_accuracy import general_contrast
from analysis.stats.certainty.high_sets import HighSets as ComparedSets
from analysis.stats.certainty.high_sets import compare_high_sets
from analysis.stats.certainty.human_llm import general_spearman
from analysis.stats.comparison.general_difference import detectable_difference
from analysis.stats.core.multiplicity import holm, left_by_holm
from analysis.stats.core.results import Reason

# With fewer answers or items, neither a correlation nor a mean says anything.
MIN_PAIRS = 3


def compared_certainty(study: ReportedStudy, run: RunData, judge: Verdicts) -> Json:
    """Whether the certainties rise together item by item, and the means of single answers.

    A mean of three annotators varies less than one reply, so means are of single answers.
    """
    theirs, own = study.people.certainty, judge.certainty
    both = ~np.isnan(theirs) & ~np.isnan(own)
    n, few = int(both.sum()), int(both.sum()) < MIN_PAIRS
    general = general_spearman(theirs, own, study.shared.items)
    value = None if few else general.value
    reason: Reason | None = "too_few_items" if few else general.reason
    out: Json = {"items": n}
    put(out, "spearman", value, reason)
    without = reason or general.interval_reason
    put_interval(out, "spearman_general_ci", None if few else general.interval, without)
    mean = None if few else float((own - theirs)[both].mean())
    put(out, "mean_difference", mean, "too_few_items")
    sides = {"human": study.votes.certainty, "model": run.judgments.certainty}
    stated = {key: side[~np.isnan(side)] for key, side in sides.items()}
    out |= {"answers": stated["human"].size, "judgments": stated["model"].size}
    out["closed"] = int((run.judgments.status != "open").sum())
    enough = min(side.size for side in stated.values()) >= MIN_PAIRS
    for key, side in stated.items():
        put(out, f"{key}_mean", float(side.mean()) if enough else None, "too_few_items")
    return out


class CertaintyComparison(Section):
    """Compare the certainty of annotators with that of every run."""

    name = "certainty_comparison"
    analyses = (
        Analysis(
            "certainty_beside",
            tables=("high_sets", "by_band"),
            paths=("certainty_headline", "comparison.*.certainty", "comparison.*.by_band"),
            uses=("threshold", "resamples"),
            main=("comparison.*.certainty.mean_difference",),
        ),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {
            "comparison": [{"certainty": compared_certainty(study, *run)} for run in runs],
        }


def _high_sets(sets: ComparedSets) -> Json:
    """Accuracy of each side on its own high items, and of both on the four resulting sets."""
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


def _add_in_general(entries: Sequence[Json], study: ReportedStudy, family: Sequence[int]) -> None:
    """Add the difference in general, on items where both sides state a certainty."""
    people, threshold = study.people, study.threshold
    results = []
    for index in family:
        judge = study.judges[index]
        known = judge.scored & people.scored
        known &= ~np.isnan(judge.certainty) & ~np.isnan(people.certainty)
        results.append(
            general_contrast(
                _credit(judge),
                known & (judge.certainty >= threshold),
                _credit(people),
                known & (people.certainty >= threshold),
                study.shared.items,
                among=len(family),
            )
        )
    adjusted = holm([one.p for one in results])
    left = left_by_holm(adjusted)
    for index, result, p, shared in zip(family, results, adjusted, left, strict=True):
        out: Json = {"holds_for": IN_GENERAL, "family": len(family)}
        out["tests"] = sum(one.p is not None for one in results)
        reason = why(result)
        out |= estimate(result)
        put_interval(out, "ci_as_best", result.as_best, reason)
        put(out, "p", result.p, reason)
        put(out, "p_holm", p, reason)
        detectable = detectable_difference(result, among=shared)
        put(out, "detectable", detectable, reason or "no_variation")
        entries[index]["difference_general"] = out


def _credit(side: Verdicts) -> Floats:
    return np.where(side.scored, side.correct, np.nan)


OWN = "each on its own certain ones"


def high_sets(report: ReportJson) -> Table:
    rows = []
    labels = {
        "both": "both certain",
        "human_only": "only people certain",
        "model_only": "only the judge certain",
        "neither": "neither certain",
    }
    for name, versus in zip(run_names(report), report["comparison"], strict=True):
        sets = versus["certainty"]["high_sets"]
        if sets["n"]:
            for key, label in labels.items():
                cells = sets["cells"][key]
                rows.append([name, label, cells["people"], cells["judge"], *[None] * 4])
            gap = sets["difference_general"]
            own = [without_interval(sets[key]) for key in ("people_on_own", "judge_on_own")]
            ends = gap["ci_as_best"] or gap["ci"]
            rows.append([name, OWN, *own, gap["value"], ends, gap["p_holm"], gap.get("detectable")])
    columns = (
        TableColumn("Run"),
        TableColumn("Items where"),
        TableColumn("People", "share"),
        TableColumn("Judge", "share"),
        TableColumn("Difference", "points"),
        TableColumn("95 % in general", "points_range"),
        TableColumn("Holm p", "p"),
        TableColumn("Detectable", "points"),
    )
    return Table(
        "high_sets",
        "Accuracy where each side is certain",
        columns,
        rows,
        say(
            "In the first four rows both are scored on the same items, in the last one each on its "
            "own high ones.{best} {conditional}",
            best=bare(
                as_best(
                    report,
                    " The lower end of its interval allows for choosing the best of several runs; "
                    "Holm: over the competing runs.",
                )
            ),
            conditional=bare(CONDITIONAL),
        ),
    )


class HighSetsSection(Section):
    """Accuracy of judge and annotators on their own high items."""

    name = "high_sets"
    needs = ("accuracies",)
    sources = (NumberSource("comparison.*.certainty.high_sets", "high_sets", RUN),)

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        people = study.people
        entries = [
            _high_sets(
                compare_high_sets(
                    people.certainty,
                    people.correct,
                    judge.certainty,
                    judge.correct,
                    threshold=study.threshold,
                    rng=study.rng(),
                    n_draws=study.draws,
                )
            )
            for judge in study.judges
        ]
        for family in families(earlier["judges"]):
            _add_in_general(entries, study, family)
        return {"comparison": [{"certainty": {"high_sets": sets}} for sets in entries]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield high_sets(report)
