"""The chapter on agreement: of people and judges, and whether a judge can replace an annotator."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import CHOICES, EPSILON
from analysis.data.verdicts import Verdicts, run_options
from analysis.report.report_json import (
    Json,
    estimate,
    pick,
    put,
    put_ci,
    put_estimate,
    why,
)
from analysis.report.section import RUN, Analysis, NumberSource, ReportJson, ReportPage, Section
from analysis.report.sections.agreement.coefficients import (
    AgreementFromAccuracy,
    AlphaCheck,
    Coefficients,
    check_words,
    expected_agreement,
)
from analysis.report.study import IN_GENERAL, ReportedStudy, fix_people, rests_on
from analysis.report.tables import Table, TableColumn, table_of_entries
from analysis.report.words import named_entries, run_names, whole_runs
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.agreement.alpha import krippendorff_alpha
from analysis.stats.agreement.coefficients import cohen_kappa
from analysis.stats.comparison.alt_test import (
    AltTest,
    alt_test,
    alt_test_certainty,
    reference_judges,
)
from analysis.stats.comparison.replacement import AgreementScale, pooled_replacement_test
from analysis.stats.core.proportions import wilson_proportion
from analysis.stats.core.votes import Votes


def _alt_test(test: AltTest) -> Json:
    out = pick(test, "omega rho passed")
    return out | {"tested": len(test.annotators), "skipped": test.n_skipped}


def _in_place_of_a_person(study: ReportedStudy, votes: Votes, judge: Verdicts) -> Json:
    """Two tests of whether the judge can replace an annotator."""
    epsilon = study.data.epsilon
    test = alt_test(votes, judge.answer, epsilon=epsilon)
    alt = _alt_test(test) | {"epsilon": test.epsilon, "q": test.q}
    alt["certainty"] = _alt_test(alt_test_certainty(votes, judge.certainty, epsilon=epsilon))
    return {"alt_test": alt, "pooled_replacement": _pooled(study, votes, judge)}


def _pooled(study: ReportedStudy, votes: Votes, judge: Verdicts) -> Json:
    """The judge in place of a person, over all people, on both scales and the worse one."""
    is_fixed = study.data.people_are_fixed
    sharing = study.shared.judged if is_fixed else study.shared.items
    test = pooled_replacement_test(votes, judge.answer, epsilon=study.data.epsilon, sharing=sharing)
    out: Json = {"epsilon": test.epsilon, "n": test.n, "holds_for": IN_GENERAL}
    out["scale"] = "balanced" if test.worse is test.balanced else "raw"
    out |= _scale(test.worse)
    out["raw"], out["balanced"] = _scale(test.raw), _scale(test.balanced)
    out["gain"] = estimate(test.gain)
    put(out["gain"], "low", test.gain_low, why(test.gain))
    out["rarest"] = test.rarest
    put(out, "same_label", test.same_label, "empty_group")
    out["decided"] = int((judge.answer >= 0).sum())
    out |= rests_on(sharing.take((votes.counts().sum(axis=1) >= 2) & (judge.answer >= 0)))
    if is_fixed:
        fix_people(out, test.n_people)
    put(out, "people_effective", test.people_effective, "no_pairs")
    return out


def _scale(scale: AgreementScale) -> Json:
    out = pick(scale, {"judge_agrees": "model", "people_agree": "people"}, scale.advantage.reason)
    put_estimate(out, "advantage_of_people", scale.advantage, "ci")
    return out | pick(scale, "p se df", why(scale.advantage))


def replacement(report: ReportJson) -> Table:
    epsilon = next((run["pooled_replacement"]["epsilon"] for run in report["comparison"]), EPSILON)
    test = f"alt-test, ε = {epsilon:g}"
    table = table_of_entries(
        "replacement",
        "Could the judge replace an annotator?",
        named_entries(report, "comparison") if report["human"]["answers"] else [],
        [
            ("Judge", "percent", "pooled_replacement.raw.judge_agrees", "agrees with a person"),
            ("Person", "percent", "pooled_replacement.raw.people_agree", "agrees with a person"),
            ("Judge", "percent", "pooled_replacement.balanced.judge_agrees", "the same, balanced"),
            ("Person", "percent", "pooled_replacement.balanced.people_agree", "the same, balanced"),
            ("people's advantage", "points", "pooled_replacement.advantage_of_people", "pooled"),
            ("p", "p", "pooled_replacement.p", "pooled"),
            ("Agrees with majority", "percent", "agreement_with_majority"),
            ("Kappa", "decimal", "cohen_kappa"),
            ("ω", "decimal", "alt_test.omega", test),
            ("ρ", "decimal", "alt_test.rho", test),
            ("tested", "count", "alt_test.tested", test),
            ("skipped", "count", "alt_test.skipped", test),
            ("ω", "decimal", "alt_test.certainty.omega", "the same of certainty"),
            ("ρ", "decimal", "alt_test.certainty.rho", "the same of certainty"),
        ],
        "Balanced agreement is the mean over the labels that people gave, so a judge that always "
        "gives the same one of two labels has 50 %. The pooled test asks about the average "
        "annotator, on the scale where the judge is worse. The alternative annotator test skips "
        "people with fewer than 30 usable items; with 30 items each it rarely passes. The last "
        "rows are references.",
    )
    if not table.rows:
        return table
    return replace(table, rows=[*table.rows, *_reference_rows(report, len(table.columns))])


def _reference_rows(report: ReportJson, width: int) -> list[list[object]]:
    """Trivial judges: the most common label, a coin, and another person at random."""
    rows = []
    for judge in report["human"]["reference_judges"]:
        raw, balanced = judge["raw"], judge["balanced"]
        row = [judge["reference"], raw, judge["people_raw"], balanced, judge["people_balanced"]]
        row.append(max(judge["people_raw"] - raw, judge["people_balanced"] - balanced))
        rows.append(row + [None] * (width - len(row)))
    return rows


def _references(votes: Votes) -> list[Json]:
    judges = reference_judges(votes)
    return [
        {
            "reference": judge.name,
            "raw": judge.raw,
            "balanced": judge.balanced,
            "people_raw": judges[-1].raw,
            "people_balanced": judges[-1].balanced,
        }
        for judge in judges
    ]


class ReplacementSection(Section):
    """The alternative annotator test, and the pooled test."""

    name = "replacement"
    analyses = (
        Analysis(
            "replacement",
            tables=("replacement",),
            paths=(
                "comparison.*.alt_test",
                "comparison.*.pooled_replacement",
                "human.reference_judges",
            ),
            uses=("resamples",),
            main=("comparison.*.alt_test.omega", "comparison.*.pooled_replacement.p"),
        ),
    )
    sources = (
        NumberSource("comparison.*.agreement", "replacement", RUN),
        NumberSource("comparison.*.agreement_with_majority", "replacement", RUN),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        pairs = zip(study.data.runs, study.judges, strict=True)
        return {
            "human": {"reference_judges": _references(study.votes)},
            "comparison": [
                _in_place_of_a_person(study, study.votes_with_options_of(run), judge)
                for run, judge in pairs
            ],
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield replacement(report)


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
    put(out, "kappa", kappa.value, kappa.reason)
    options = np.arange(len(CHOICES))
    alpha = krippendorff_alpha(
        (one[both, None] == options).astype(np.int64) + (other[both, None] == options)
    )
    put(out, "alpha", alpha.value, alpha.reason)
    return out


def _agreement(judge: Verdicts, people: Verdicts, n_options: int) -> Json:
    both = (judge.answer >= 0) & (people.answer >= 0)
    same = wilson_proportion((judge.answer == people.answer)[both])
    kappa = cohen_kappa(people.answer, judge.answer, n_options=n_options)
    out: Json = {"common_items": int(both.sum())}
    put_estimate(out, "agreement_with_majority", same, "agreement_ci")
    put_estimate(out, "cohen_kappa", kappa)
    return out


def _add_as_best(entries: Sequence[Json], study: ReportedStudy) -> None:
    """Add intervals in general for agreement, which allow for choosing the best run."""
    among = max(1, sum(entry["agreement_with_majority"] is not None for entry in entries))
    for entry, judge in zip(entries, study.judges, strict=True):
        both = (judge.answer >= 0) & (study.people.answer >= 0)
        same = (judge.answer == study.people.answer)[both]
        share = general_proportion(same, study.shared.items.take(both), among=among)
        put_ci(entry, "agreement_as_best_ci", share)


def matrices(report: ReportJson) -> list[Table]:
    """Agreement of each pair of sides, by both coefficients."""
    names, last = run_names(report), len(report["matrix"]) - 1
    # Positions in the matrix: annotators, then the runs, then the truth.
    sides = [0, *(index + 1 for index in whole_runs(report)), last]
    labels = ["People, majority", *(names[index - 1] for index in sides[1:-1]), "Truth"]
    tables = []
    for name, key, coefficient in (
        ("agreement_matrix", "kappa", "Cohen's kappa"),
        ("agreement_matrix_alpha", "alpha", "Krippendorff's alpha"),
    ):
        rows = [
            [label, *(report["matrix"][row][column][key] for column in sides)]
            for label, row in zip(labels, sides, strict=True)
        ]
        columns = (TableColumn(coefficient), *(TableColumn(label, "decimal") for label in labels))
        tables.append(
            Table(
                name,
                f"Agreement of each pair of sides, by {coefficient}",
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
        return {
            "expected": expected_agreement(page.report),
            "alpha_check": check_words(page.report),
        }
