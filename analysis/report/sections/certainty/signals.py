"""Other signals of certainty than the stated one: calibration, coverage, certified thresholds."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.data.signals import SIGNALS
from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, put
from analysis.report.section import Report, Section
from analysis.report.sections.certainty.calibration import calibration
from analysis.report.sections.certainty.certified import DELTA, Draws, certificate
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import run_names
from analysis.stats.certainty.risk_coverage import accuracy_at_coverage

COVERAGES = (25, 50, 75)


def signals(study: ReportedStudy) -> list[Json]:
    """One entry per run: its signals that differ between answers, by name."""
    found = [
        {
            signal.name: replace(verdicts, certainty=values)
            for signal in SIGNALS
            if _varies(values := signal.values(study.data, run, verdicts), verdicts)
        }
        for run, verdicts in zip(study.data.runs, study.judges, strict=True)
    ]
    tested, draws = sum(map(len, found)), Draws(study.data, study.shared)
    return [
        {name: _entry(study, verdicts, draws, tested=tested) for name, verdicts in run.items()}
        for run in found
    ]


def _varies(values: Any, verdicts: Verdicts) -> bool:
    """Whether a signal can tell answers apart: one that is the same everywhere cannot."""
    known = values[verdicts.scored & ~np.isnan(values)]
    return bool(known.size and known.min() < known.max())


def _entry(study: ReportedStudy, verdicts: Verdicts, draws: Draws, *, tested: int) -> Json:
    found = certificate(verdicts, draws, study.threshold, n_judges=tested)
    out: Json = {"calibration": calibration(verdicts.certainty, verdicts.correct)}
    for percent in COVERAGES:
        right = accuracy_at_coverage(verdicts.certainty, verdicts.correct, percent / 100)
        put(out, f"right_at_{percent}", right)
    return out | {"selective": found}


def signal_table(report: Report) -> Table:
    labels = {signal.name: signal.label for signal in SIGNALS}
    rows = []
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        for key, found in judge.get("signals", {}).items():
            certified = found["selective"]
            rows.append(
                [name, labels[key], found["calibration"]["n"], found["calibration"]["auroc"]]
                + [found[f"right_at_{percent}"] for percent in COVERAGES]
                + ["none" if certified["threshold"] is None else f"{certified['threshold']:.0f}"]
                + [certified["coverage"], certified]
            )
    columns = (
        TableColumn("Run"),
        TableColumn("Certainty as"),
        TableColumn("n", "count"),
        TableColumn("AUROC", "decimal"),
        *(
            TableColumn(f"{percent} %", "percent", "Right among the most certain")
            for percent in COVERAGES
        ),
        TableColumn("from", "text", "Certified"),
        TableColumn("coverage", "percent", "Certified"),
        TableColumn("right", "share", "Certified"),
    )
    return Table(
        "signals",
        "What other signals of certainty are worth as thresholds",
        columns,
        rows,
        "Only signals that differ between answers. Answers of equal certainty count with their "
        f"mean. Certified: with {1 - DELTA:.0%} confidence over all rows of this table together, "
        "apart from the certificates of stated certainty.",
    )


class Signals(Section):
    """Calibration and thresholds of every signal that a run has."""

    name = "signals"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"judges": [{"signals": found} if found else {} for found in signals(study)]}

    def tables(self, report: Report) -> Iterator[Table]:
        yield signal_table(report)
