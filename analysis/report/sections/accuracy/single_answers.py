"""A second interval for single answers: the pigeonhole bootstrap."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from analysis.data.verdicts import Floats
from analysis.report.encode import Json, put_interval
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.stats.core.bootstrap import pigeonhole_bootstrap
from analysis.stats.core.checks import n_distinct
from analysis.stats.core.results import BoolArray

# Every draw weights every answer, so more answers than this take too long.
PIGEONHOLE_ANSWERS = 100_000


def _pigeonhole(study: ReportedStudy, rows: BoolArray) -> Json:
    """The pigeonhole interval of the share of right answers among some single answers."""
    votes, out = study.votes, dict[str, Any]()
    right = study.correct_alone[rows].astype(np.float64)
    reason = None
    if votes.n > PIGEONHOLE_ANSWERS:
        reason = "too_large"
    elif n_distinct(votes.annotator[rows]) == 1:
        reason = "too_few_annotators"
    elif right.size and right.min() == right.max():
        # Resamples of equal values are all equal, which is not certainty.
        reason = "no_variation"
    if reason is not None:
        put_interval(out, "pigeonhole_ci", None, reason)
        return out
    found = pigeonhole_bootstrap(
        partial(_share, right),
        votes.item[rows],
        votes.annotator[rows],
        n_draws=study.draws,
        rng=study.rng(),
    )
    put_interval(out, "pigeonhole_ci", found.interval, found.interval_reason or found.reason)
    return out


def _share(right: Floats, weights: Floats) -> Floats:
    """Share of right answers under each row of weights."""
    return np.asarray(weights @ right / weights.sum(axis=1), dtype=np.float64)


def single_intervals(report: Report) -> Table:
    single = report["human"]["individual"]
    rows = [
        [label, single[band], single[band]["pigeonhole_ci"]]
        for band, label in (("high", "High certainty"), ("low", "Low certainty"))
        if single[band]["n"]
    ]
    columns = (
        TableColumn("Single answers of people"),
        TableColumn("Accuracy", "share"),
        TableColumn("Pigeonhole 95 %", "percent_range"),
    )
    return Table(
        "single_intervals",
        "Single answers by another interval",
        columns,
        rows,
        "The pigeonhole bootstrap resamples people and items, each on their own. It is "
        "conservative: up to 1.7 times too wide where answers have nothing in common.",
    )


class SingleAnswers(Section):
    """Accuracy of single answers in either band, with items and annotators resampled."""

    name = "single_answers"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        certainty, scored = study.votes.certainty, study.correct_alone >= 0
        return {
            "human": {
                "individual": {
                    "high": _pigeonhole(study, scored & (certainty >= study.threshold)),
                    "low": _pigeonhole(study, scored & (certainty < study.threshold)),
                }
            }
        }

    def tables(self, report: Report) -> Iterator[Table]:
        yield single_intervals(report)
