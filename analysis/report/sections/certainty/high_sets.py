"""Each side on its own high-certainty items, which differ between sides but overlap."""

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.data.verdicts import Floats, Verdicts
from analysis.report.clusters import IN_GENERAL
from analysis.report.competition import families
from analysis.report.encode import Json, cell, estimate, number, put, put_interval
from analysis.report.section import RUN, NumberSource, Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import CONDITIONAL, Table, TableColumn
from analysis.report.text.names import run_names
from analysis.report.text.verdicts import DETECTABLE
from analysis.stats.accuracy.general_accuracy import general_contrast
from analysis.stats.certainty.high_sets import HighSets as ComparedSets
from analysis.stats.certainty.high_sets import compare_high_sets
from analysis.stats.comparison.general_difference import detectable_difference
from analysis.stats.core.multiplicity import holm


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
    """Add the difference in general, among items for which both sides state a certainty."""
    people, threshold = study.people, study.threshold
    found = []
    for index in family:
        judge = study.judges[index]
        known = judge.scored & people.scored
        known &= ~np.isnan(judge.certainty) & ~np.isnan(people.certainty)
        found.append(
            general_contrast(
                _credit(judge),
                known & (judge.certainty >= threshold),
                _credit(people),
                known & (people.certainty >= threshold),
                study.shared.items,
                among=len(family),
            )
        )
    for index, result, p in zip(family, found, holm([one.p for one in found]), strict=True):
        out: Json = {"holds_for": IN_GENERAL, "family": len(family)}
        out["tests"] = sum(one.p is not None for one in found)
        reason = result.interval_reason or result.reason
        out |= estimate(result)
        put_interval(out, "ci_as_best", result.as_best, reason)
        put(out, "p", number(result.p), reason)
        put(out, "p_holm", number(p), reason)
        detectable = detectable_difference(result, among=len(family))
        put(out, "detectable", number(detectable), reason or "no_variation")
        entries[index]["difference_general"] = out


def _credit(side: Verdicts) -> Floats:
    return np.where(side.scored, side.correct, np.nan)


OWN = "each on its own certain ones"


def high_sets(report: Report) -> Table:
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
            own = [sets["people_on_own"], sets["judge_on_own"]]
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
        "Who is certain where, and right how often",
        columns,
        rows,
        "Each side's own high items are different items that overlap; in the first four rows both "
        "are scored on the same ones. The difference of the last row allows for people, personas "
        f"and questions in common, and its "
        "lower end for naming the best of several runs; Holm: over the runs that compete. "
        f"{DETECTABLE} {CONDITIONAL}",
    )


class HighSetsSection(Section):
    """Accuracy of judge and annotators on their own high items."""

    name = "high_sets"
    needs = ("accuracies",)
    sources = (NumberSource("comparison.*.certainty.high_sets", "high_sets", RUN),)

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        people = study.people
        found = [
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
            _add_in_general(found, study, family)
        return {"comparison": [{"certainty": {"high_sets": sets}} for sets in found]}

    def tables(self, report: Report) -> Iterator[Table]:
        yield high_sets(report)
