"""The chapter on agreement: of judges with the majority, in errors, and by other rules."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import CHOICES
from analysis.data.verdicts import Verdicts, run_options
from analysis.report.report_json import (
    Json,
    cell,
    estimate,
    number,
    put,
    put_estimate,
    put_interval,
    undefined,
)
from analysis.report.section import Report, ReportPage, Section
from analysis.report.sections.agreement.coefficients import (
    AgreementFromAccuracy,
    AlphaCheck,
    Coefficients,
    check_words,
)
from analysis.report.sections.agreement.replacement import LeaveOneOutSection, ReplacementSection
from analysis.report.study import ReportedStudy
from analysis.report.tables import CONDITIONAL, Table, TableColumn, table_of_entries
from analysis.report.words import named_comparisons, named_entries, reason, run_names, whole_runs
from analysis.stats.accuracy.bands import tie_credit_accuracy
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.agreement.alpha import krippendorff_alpha
from analysis.stats.agreement.coefficients import cohen_kappa
from analysis.stats.comparison.mistakes import error_consistency, shared_guess
from analysis.stats.core.proportions import EMPTY, wilson_proportion
from analysis.stats.core.results import IntArray
from analysis.stats.core.votes import Votes
from analysis.stats.labels.aggregation import log_odds_weights, majority_vote, weighted_vote
from analysis.stats.labels.dawid_skene import DawidSkene, OneCoin, one_coin
from analysis.stats.labels.label_models import Glad, Mace, glad, mace


def agreement_matrix(
    people: Verdicts, judges: Sequence[Verdicts], truth: npt.ArrayLike
) -> list[list[Json]]:
    """Agreement of majority, every run and the truth with one another, in that order."""
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
    """Add the intervals in general of agreement, which allow for naming the best of the runs."""
    among = max(1, sum(entry["agreement_with_majority"] is not None for entry in entries))
    for entry, judge in zip(entries, study.judges, strict=True):
        both = (judge.answer >= 0) & (study.people.answer >= 0)
        same = (judge.answer == study.people.answer)[both]
        found = general_proportion(same, study.shared.items.take(both), among=among)
        reason = found.interval_reason or found.reason
        put_interval(entry, "agreement_as_best_ci", found.interval, reason)


def matrices(report: Report) -> list[Table]:
    """Agreement of every two sides, by both coefficients."""
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
                "Agreement of every two sides",
                columns,
                rows if report["judges"] else [],
                f"{coefficient} on the items that both decided; “–” where it is undefined.",
            )
        )
    return tables


class AgreementWithJudges(Section):
    """Agreement of every run with the majority, and the matrix of all sides and the truth."""

    name = "agreement_with_judges"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        entries = []
        for run, judge in zip(study.data.runs, study.judges, strict=True):
            options = max(study.votes.n_options, run_options(run))
            entries.append(_agreement(judge, study.people, options))
        _add_as_best(entries, study)
        matrix = agreement_matrix(study.people, study.judges, study.data.truth)
        return {"comparison": entries, "matrix": matrix}

    def tables(self, report: Report) -> Iterator[Table]:
        yield from matrices(report)


def _same_mistakes(judge: Verdicts, people: Verdicts, *, seed: int, draws: int) -> Json:
    """Whether both are right and wrong on the same items, beyond what their accuracies give."""
    found = error_consistency(
        judge.correct, people.correct, n_draws=draws, rng=np.random.default_rng(seed)
    )
    return {
        "n": found.n,
        "both_right": found.n_both_right,
        "only_judge": found.n_first_only,
        "only_people": found.n_second_only,
        "both_wrong": found.n_both_wrong,
    } | estimate(found.kappa, "kappa")


_GUESS = ("people_follow", "right", "model_follows_right", "model_follows_wrong")


def _shared_guess(
    votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int
) -> Json:
    found = shared_guess(votes, judge.answer, truth, n_draws=draws, rng=np.random.default_rng(seed))
    return {"n": found.n} | {key: estimate(getattr(found, key)) for key in _GUESS}


def same_mistakes(report: Report) -> Table:
    return table_of_entries(
        "same_mistakes",
        "Do people and judge make the same mistakes?",
        [pair for pair in named_entries(report, "comparison") if pair[1]["same_mistakes"]["n"]],
        [
            ("Both right", "count", "same_mistakes.both_right"),
            ("Only judge", "count", "same_mistakes.only_judge"),
            ("Only people", "count", "same_mistakes.only_people"),
            ("Both wrong", "count", "same_mistakes.both_wrong"),
            ("Kappa of being right", "decimal", "same_mistakes.kappa"),
            ("95 % interval", "range", "same_mistakes.ci"),
        ],
        "Kappa beyond what the two accuracies give: 0 for unrelated mistakes, 1 for the same ones.",
    )


def shared_guess_table(report: Report) -> Table:
    keys = ("people_follow", "right", "model_follows_right", "model_follows_wrong")
    rows = []
    for name, versus in named_comparisons(report):
        found = versus["shared_guess"]
        if found["right"]["value"] is not None:
            row: list[Any] = [name, found["n"]]
            for key in keys:
                row += [found[key]["value"], found[key]["ci"]]
            rows.append(row)
    columns = [TableColumn("Run"), TableColumn("Items", "count")]
    for group in (
        "c: people follow the guess",
        "r: the guess is right",
        "Judge follows a right guess",
        "… and a wrong one",
    ):
        columns += [TableColumn("share", "decimal", group), TableColumn("95 %", "range", group)]
    return Table(
        "shared_guess",
        "One guess that all share",
        tuple(columns),
        rows,
        "The model of a common guess per item. A judge that follows wrong guesses as often as "
        "right ones shares the stereotype; one that knows better does not.",
    )


class SharedErrorsSection(Section):
    """Kappa of being right, and the model of one guess that all share."""

    name = "shared_errors"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {
            "comparison": [
                {
                    "same_mistakes": _same_mistakes(
                        judge, study.people, seed=study.seed, draws=study.draws
                    ),
                    "shared_guess": self._guess(study, judge),
                }
                for judge in study.judges
            ]
        }

    def tables(self, report: Report) -> Iterator[Table]:
        yield same_mistakes(report)
        yield shared_guess_table(report)

    def _guess(self, study: ReportedStudy, judge: Verdicts) -> Json:
        if not study.is_binary(judge):
            return {"n": 0} | {key: undefined("not_offered", "value", "ci") for key in _GUESS}
        return _shared_guess(
            study.votes, judge, study.binary_truth, seed=study.seed, draws=study.draws
        )


# Every step of GLAD has as many dimensions as there are items and annotators.
GLAD_VOTES = 50_000


def aggregation(study: ReportedStudy) -> list[Json]:
    """Accuracy of every rule, with an interval for these annotators (Wilson)."""
    votes, truth = study.votes, study.truth
    at_random = majority_vote(votes, ties="random", rng=study.rng())
    rules = [
        ("majority", majority_vote(votes).answer),
        ("majority, ties by certainty", majority_vote(votes, ties="certainty").answer),
        (f"majority, ties at random (seed {study.seed})", at_random.answer),
        ("weighted by certainty", weighted_vote(votes).answer),
        (
            "weighted by accuracy on the other items (uses the true answers)",
            weighted_vote(votes, log_odds_weights(votes, truth)).answer,
        ),
    ]
    out: list[Json] = [{"rule": name} | _score(answer, truth) for name, answer in rules]
    half = tie_credit_accuracy(majority_vote(votes, ties="half"), truth)
    put(out[0], "ties_as_half", number(half.value), half.reason)
    confusions = study.confusions
    if confusions is None:
        return out
    steps = study.label_steps
    coins = one_coin(votes, max_iterations=steps)
    spammers = mace(votes, max_iterations=steps)
    for name, fitted in (("Dawid-Skene", confusions), ("one-coin", coins), ("MACE", spammers)):
        out.append({"rule": name} | _settled(fitted, truth))
    if votes.n > GLAD_VOTES:
        unknown = undefined("too_large", "steps", "converged")
        out.append({"rule": "GLAD"} | unknown | _nothing("too_large"))
    else:
        out.append({"rule": "GLAD"} | _settled(glad(votes), truth))
    return out


def _settled(fitted: DawidSkene | OneCoin | Mace | Glad, truth: np.ndarray) -> Json:
    """Score of a model that converged; a model that stopped earlier has no result."""
    steps = {"steps": fitted.n_iterations, "converged": fitted.converged}
    found = _score(fitted.answer, truth) if fitted.converged else _nothing("not_settled")
    return steps | found


def _nothing(reason: str) -> Json:
    """The keys of `_score` without values."""
    return cell(EMPTY) | undefined(reason, "undecided", "accuracy", "ci")


def _score(answer: IntArray, truth: np.ndarray) -> Json:
    scored = (answer >= 0) & (truth >= 0)
    right = wilson_proportion((answer == truth)[scored])
    return {"undecided": int((answer < 0).sum())} | cell(right)


def aggregation_table(report: Report) -> Table:
    rows = [
        [entry["rule"], entry, entry["undecided"], _reached(entry)]
        for entry in report["human"]["aggregation"]
    ]
    columns = (
        TableColumn("Rule"),
        TableColumn("Accuracy", "share"),
        TableColumn("Undecided", "count"),
        TableColumn("Steps"),
    )
    return Table(
        "aggregation",
        "One answer of many, by other rules",
        columns,
        rows if report["human"]["answers"] else [],
        "Every other table uses the first rule. Intervals (Wilson) hold for these people. "
        "Dawid-Skene gives everybody a confusion matrix of their own, which a few dozen answers "
        "each do not carry: there read one-coin (one accuracy per person) or MACE (people "
        "either know or spam). GLAD adds how hard each item is. None of these four knows the "
        "truth: mistakes that most people share are right answers to them. The vote weighted by "
        "accuracy does know it, of all items but the one that it answers, so it is no rule for "
        f"items without known answers. {CONDITIONAL}",
    )


def _reached(entry: Report) -> str | None:
    """The steps that a model took, and whether it converged; other rules take none."""
    if "steps" not in entry:
        return None
    if entry["steps"] is None:
        return reason(entry["steps_reason"])
    steps = f"{entry['steps']}"
    return steps if entry["converged"] else f"{steps}, {reason('not_settled')}: no result"


class Aggregation(Section):
    """Accuracy of every rule that combines several answers into one."""

    name = "aggregation"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"human": {"aggregation": aggregation(study)}}

    def tables(self, report: Report) -> Iterator[Table]:
        yield aggregation_table(report)


class AgreementSection(Section):
    """Agreement among annotators, and of judges with them."""

    name = "agreement"
    title = "Agreement"
    inside = "Coefficients, every two sides, replacing a person, and shared mistakes"
    parts = (
        Coefficients(),
        AgreementFromAccuracy(),
        AlphaCheck(),
        Aggregation(),
        AgreementWithJudges(),
        ReplacementSection(),
        LeaveOneOutSection(),
        SharedErrorsSection(),
    )

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        return {"alpha_check": check_words(page.report)}
