"""The chapter on agreement: of people, and of judges with the majority."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import CHOICES
from analysis.data.verdicts import Verdicts, run_options
from analysis.report.report_json import (
    Json,
    number,
    put,
    put_estimate,
    put_interval,
)
from analysis.report.section import ReportJson, ReportPage, Section
from analysis.report.sections.agreement.coefficients import (
    AgreementFromAccuracy,
    AlphaCheck,
    Coefficients,
    check_words,
)
from analysis.report.sections.agreement.replacement import ReplacementSection
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.words import run_names, whole_runs
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.agreement.alpha import krippendorff_alpha
from analysis.stats.agreement.coefficients import cohen_kappa
from analysis.stats.core.proportions import wilson_proportion


def agreement_matrix(
    people: Verdicts, judges: Sequence[Verdicts], truth: npt.ArrayLike
) -> list[list[Json]]:
    """Pairwise agreement of majority, every run and the truth, in that order."""
    sides = [people.answer, *(judge.answer for judge in judges), np.asarray(truth, np.int64)]
    matrix: list[list[Json]] = [[{} for _ in sides] for _ in sides]
    for row, one in enumerate(sides):
        for column in range(row, len(sides)):
            matrix[row][column] = matrix[column][row] = _pair(one, sides[column])
    return matrix


def _pair(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> Json:
    both = (one >= 0) & (other >= 0)
    kappa = cohen_kappa(one, other, n_options=len(CHOICES))
    out: Json = {"n": int(both.sum())}
    put(out, "agreement", float((one == other)[both].mean()) if both.any() else None)
    put(out, "kappa", number(kappa.value), kappa.reason)
    options = np.arange(len(CHOICES))
    alpha = krippendorff_alpha(
        (one[both, None] == options).astype(np.int64) + (other[both, None] == options)
    )
    put(out, "alpha", number(alpha.value), alpha.reason)
    return out


def _agreement(judge: Verdicts, people: Verdicts, n_options: int) -> Json:
    both = (judge.answer >= 0) & (people.answer >= 0)
    same = wilson_proportion((judge.answer == people.answer)[both])
    kappa = cohen_kappa(people.answer, judge.answer, n_options=n_options)
    out: Json = {"common_items": int(both.sum())}
    put(out, "agreement_with_majority", number(same.value), same.reason)
    put_interval(out, "agreement_ci", same.interval, same.reason)
    put_estimate(out, "cohen_kappa", kappa)
    return out


def _add_as_best(entries: Sequence[Json], study: ReportedStudy) -> None:
    """Add intervals in general for agreement, which allow for choosing the best run."""
    among = max(1, sum(entry["agreement_with_majority"] is not None for entry in entries))
    for entry, judge in zip(entries, study.judges, strict=True):
        both = (judge.answer >= 0) & (study.people.answer >= 0)
        same = (judge.answer == study.people.answer)[both]
        found = general_proportion(same, study.shared.items.take(both), among=among)
        reason = found.interval_reason or found.reason
        put_interval(entry, "agreement_as_best_ci", found.interval, reason)


def matrices(report: ReportJson) -> list[Table]:
    """Agreement of each pair of sides, by both coefficients."""
    names, last = run_names(report), len(report["matrix"]) - 1
    # Positions in the matrix: annotators, then the runs, then the truth.
    shown = [0, *(index + 1 for index in whole_runs(report)), last]
    labels = ["People, majority", *(names[index - 1] for index in shown[1:-1]), "Truth"]
    tables = []
    for name, key, coefficient in (
        ("agreement_matrix", "kappa", "Cohen's kappa"),
        ("agreement_matrix_alpha", "alpha", "Krippendorff's alpha"),
    ):
        rows = [
            [label, *(report["matrix"][row][column][key] for column in shown)]
            for label, row in zip(labels, shown, strict=True)
        ]
        columns = (TableColumn(coefficient), *(TableColumn(label, "decimal") for label in labels))
        tables.append(
            Table(
                name,
                "Agreement of each pair of sides",
                columns,
                rows if report["judges"] else [],
                f"{coefficient} on the items that both decided; “–” where it is undefined.",
            )
        )
    return tables


class AgreementWithJudges(Section):
    """Agreement of every run with the majority, and the matrix of all sides and the truth."""

    name = "agreement_with_judges"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        entries = []
        for run, judge in zip(study.data.runs, study.judges, strict=True):
            options = max(study.votes.n_options, run_options(run))
            entries.append(_agreement(judge, study.people, options))
        _add_as_best(entries, study)
        matrix = agreement_matrix(study.people, study.judges, study.data.truth)
        return {"comparison": entries, "matrix": matrix}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield from matrices(report)


class AgreementSection(Section):
    """Agreement among annotators, and of judges with them."""

    name = "agreement"
    title = "Agreement"
    inside = "Coefficients, pairs of sides, and replacing a person"
    parts = (
        Coefficients(),
        AgreementFromAccuracy(),
        AlphaCheck(),
        AgreementWithJudges(),
        ReplacementSection(),
    )

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        return {"alpha_check": check_words(page.report)}
