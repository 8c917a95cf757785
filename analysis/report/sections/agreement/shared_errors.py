"""Errors that annotators and judge share, and the guess that all share."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, estimate, undefined
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn, table_of_entries
from analysis.report.text.names import named_comparisons, named_entries
from analysis.stats.comparison.mistakes import error_consistency, shared_guess
from analysis.stats.core.votes import Votes


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
