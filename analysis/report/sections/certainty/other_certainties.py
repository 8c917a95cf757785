"""Certainty that models were not asked for in words: probabilities and agreement of readings."""

from collections.abc import Iterator

from analysis.data.arrays import Dataset, RunData
from analysis.data.verdicts import (
    Verdicts,
    agreement_certainty,
    probability_certainty,
)
from analysis.report.encode import Json
from analysis.report.section import Report, Section
from analysis.report.sections.certainty.calibration import calibration
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import run_names


def _other_certainties(data: Dataset, run: RunData, verdicts: Verdicts) -> Json:
    """Measure two certainties that the model was not asked for in words."""
    return {
        "probabilities": calibration(probability_certainty(data, run, verdicts), verdicts.correct),
        "agreement": calibration(agreement_certainty(verdicts), verdicts.correct),
    }


def other_certainties(report: Report) -> Table:
    labels = {
        "probabilities": "probability of its answer",
        "agreement": "agreement of its readings",
    }
    rows = []
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        found = judge["other_certainties"]
        kinds = [(label, found[key]) for key, label in labels.items() if found[key]["n"]]
        if kinds:
            kinds.insert(0, ("in words", judge["calibration"]))
        for label, kind in kinds:
            if kind["n"]:
                row = [kind[key] for key in ("ece", "brier", "auroc", "aurc")]
                rows.append([name, label, kind["n"], *row])
    columns = (
        TableColumn("Run"),
        TableColumn("Certainty as"),
        TableColumn("n", "count"),
        TableColumn("ECE", "decimal"),
        TableColumn("Brier", "decimal"),
        TableColumn("AUROC", "decimal"),
        TableColumn("AURC", "decimal"),
    )
    return Table(
        "other_certainties",
        "Certainty that no judge was asked for",
        columns,
        rows,
        "The certainty that a judge states, the probability that the model gave its answer, and "
        "the share of its readings that gave it. Lower is better except for AUROC.",
    )


class OtherCertainties(Section):
    """Calibration of the probability of an answer, and of the agreement of a run's readings."""

    name = "other_certainties"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {
            "judges": [
                {"other_certainties": _other_certainties(study.data, run, verdicts)}
                for run, verdicts in runs
            ]
        }

    def tables(self, report: Report) -> Iterator[Table]:
        yield other_certainties(report)
