"""Whether people and a judge make the same mistakes, and follow the same guesses."""

from collections.abc import Iterator

import numpy as np

from analysis.data.verdicts import Verdicts
from analysis.report.report_json import Json, estimate, undefined
from analysis.report.section import ReportJson, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import EntryField, Table, table_of_entries
from analysis.report.words import named_comparisons, named_entries
from analysis.stats.core.votes import Votes
from extras.likeness.stats import error_consistency, shared_guess


def _same_mistakes(judge: Verdicts, people: Verdicts, *, seed: int, draws: int) -> Json:
    """Whether both are right and wrong on the same items, beyond chance from their accuracies."""
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


_GUESS_WORDS = {
    "people_follow": "c: people follow the guess",
    "right": "r: the guess is right",
    "model_follows_right": "Judge follows a right guess",
    "model_follows_wrong": "… and a wrong one",
}


def _shared_guess(
    votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int
) -> Json:
    found = shared_guess(votes, judge.answer, truth, n_draws=draws, rng=np.random.default_rng(seed))
    return {"n": found.n} | {key: estimate(getattr(found, key)) for key in _GUESS_WORDS}


def same_mistakes(report: ReportJson) -> Table:
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
        "Kappa beyond the agreement expected from both accuracies: 0 for unrelated mistakes, 1 "
        "for identical ones.",
    )


def shared_guess_table(report: ReportJson) -> Table:
    entries = ((name, entry["shared_guess"]) for name, entry in named_comparisons(report))
    fields: list[EntryField] = [("Items", "count", "n")]
    for key, group in _GUESS_WORDS.items():
        fields.append(("share", "decimal", f"{key}.value", group))
        fields.append(("95 %", "range", f"{key}.ci", group))
    return table_of_entries(
        "shared_guess",
        "A guess that all share",
        [(name, found) for name, found in entries if found["right"]["value"] is not None],
        fields,
        "A model with one common guess per item. A judge that follows wrong guesses as often as "
        "right ones shares the stereotype.",
    )


class SharedErrorsSection(Section):
    """Kappa of being right, and the model of a shared guess."""

    name = "shared_errors"
    shows = ("same_mistakes", "shared_guess")
    keys = """
same_mistakes | object | Whether the judge and the majority are wrong on the same items.
both_right | count | Items that both have right.
only_judge | count | Items that only the judge has right.
only_people | count | Items that only people have right.
both_wrong | count | Items that both have wrong.
same_mistakes.kappa | coefficient | Kappa of right and wrong.
shared_guess | object | Whether the judge follows people also when they are wrong.
people_follow | object | How often one annotator follows another.
model_follows_right | object | How often the judge chooses as people who are right.
model_follows_wrong | object | How often the judge chooses as people who are wrong.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
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

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield same_mistakes(report)
        yield shared_guess_table(report)

    def _guess(self, study: ReportedStudy, judge: Verdicts) -> Json:
        if not study.is_binary(judge):
            return {"n": 0} | {key: undefined("not_offered", "value", "ci") for key in _GUESS_WORDS}
        return _shared_guess(
            study.votes, judge, study.binary_truth, seed=study.seed, draws=study.draws
        )


MISTAKES = SharedErrorsSection()
