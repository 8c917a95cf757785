"""The chapter of a later wave: who came back, and how the same people's answers changed."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from analysis.report.quantities import Population, Quantity, Text, Words, bare, clause, say
from analysis.report.report_json import Json, cell, estimate, put
from analysis.report.results import NOTHING, cannot_tell
from analysis.report.rules import TOO_SMALL
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import holds, level_of
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import listed
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.proportions import wilson_proportion
from analysis.stats.core.results import Estimate
from analysis.stats.core.shared_variance import Sharing
from extras.own_answers.wave_answers import WaveAnswers
from extras.own_answers.wave_statistics import (
    mean_change,
    mean_of_people,
    return_difference,
    return_table,
)

_ABOUT = {"certainty": "Mean certainty", "correct": "Share of right answers"}
_SEED = 20240701
KIND = "who completed a later wave"  # of claims


def _people(answers: WaveAnswers) -> Json:
    n, done = answers.completed.size, int(answers.completed.sum())
    return {
        "number": answers.number,
        "items": answers.items,
        "people": n,
        "invited": int(answers.invited.sum()),
        "came": int(answers.came.sum()),
        "completed": done,
        "returned": cell(wilson_proportion(answers.completed), "value", "count"),
    }


def _attrition(first: WaveAnswers) -> Json:
    """Who came back, by what they said of themselves and by their first answers."""
    back = first.completed
    groups = [
        (label, return_table(answers, back, seed=_SEED)) for label, answers in first.asked.items()
    ]
    numbers = [(name, return_difference(getattr(first, name), back)) for name in _ABOUT]
    p_values = [test.p for _, test in groups] + [test.p for _, test in numbers]
    adjusted = holm(p_values)
    groups_p, numbers_p = adjusted[: len(groups)], adjusted[len(groups) :]
    tables = []
    for (label, test), p in zip(groups, groups_p, strict=True):
        rows = zip(test.answers, test.people, test.back, strict=True)
        entry: Json = {
            "question": label,
            "answers": [
                {"answer": answer or "other answers, or none"}
                | cell(wilson_proportion(np.arange(n) < n_back), "value", "count")
                for answer, n, n_back in rows
            ],
        }
        _put_p(entry, test.p, p)
        tables.append(entry)
    compared = []
    for (name, one), p in zip(numbers, numbers_p, strict=True):
        entry = {"about": name, "n_back": one.n_back, "n_away": one.n_away}
        put(entry, "back", one.back, "empty_group")
        put(entry, "away", one.away, "empty_group")
        entry["difference"] = estimate(one.difference)
        _put_p(entry, one.p, p)
        compared.append(entry)
    return {"by_group": tables, "by_answers": compared}


def _put_p(entry: Json, p: float | None, adjusted: float | None) -> None:
    put(entry, "p", p, "no_variation")
    put(entry, "p_adjusted", adjusted, "no_variation")


def _change(answers: WaveAnswers) -> Json:
    """Changes within those who completed both waves: in shared items, and of whole people."""
    sharing = Sharing.of_items(
        answers.person.size, {"person": answers.person, "question": answers.question}
    )
    both = ~np.isnan(answers.sure) & ~np.isnan(answers.sure_again)
    scored = answers.truth >= 0
    right = (answers.first == answers.truth).astype(np.float64)
    right_again = (answers.again == answers.truth).astype(np.float64)
    return {
        "answers": int(answers.person.size),
        "people": int(np.unique(answers.person).size),
        "questions": int(np.unique(answers.question).size),
        "repeated": cell(
            general_proportion(answers.first == answers.again, sharing), "value", "count"
        ),
        "certainty": estimate(
            mean_change((answers.sure_again - answers.sure)[both], sharing.take(both))
        ),
        "correct": estimate(mean_change((right_again - right)[scored], sharing.take(scored))),
        **_of_whole_people(answers),
    }


def _of_whole_people(answers: WaveAnswers) -> Json:
    """Changes of people's own means, where the waves have other items; of these items only."""
    if answers.items == "same":
        return {}
    pairs = {"certainty": (answers.certainty, answers.later_certainty)}
    pairs["correct"] = answers.correct, answers.later_correct
    return {
        "of_people": {
            name: estimate(_of_people(later - first)) for name, (first, later) in pairs.items()
        }
    }


def _of_people(changes: np.ndarray) -> Estimate:
    return mean_of_people(changes[~np.isnan(changes)])


def group_table(report: ReportJson) -> Table:
    rows = [
        (f"{group['question']} {answer['answer']}", answer | {"p": group["p_adjusted"]})
        for group in report["wave"]["attrition"]["by_group"]
        for answer in group["answers"]
    ]
    return table_of_entries(
        "wave_groups",
        "Who completed this wave, by what they said of themselves",
        rows,
        [
            ("People", "count", "n"),
            ("Completed this wave", "count", "count"),
            ("Share", "percent", "value"),
            ("95 % interval", "percent_range", "ci"),
            ("p of the question, adjusted", "p", "p"),
        ],
        "People who completed the first wave and count in it. Answers of fewer than five "
        "people are one row. p: Fisher’s exact test, from three answers on a chi-squared test of "
        "drawn tables; adjusted over all tests of this chapter.",
        first="Answer",
    )


def answers_table(report: ReportJson) -> Table:
    return table_of_entries(
        "wave_answers",
        "Who completed this wave, by their first answers",
        [(_ABOUT[e["about"]], e) for e in report["wave"]["attrition"]["by_answers"]],
        [
            ("People", "count", "n_back", "Completed it"),
            ("Mean", "decimal", "back", "Completed it"),
            ("People", "count", "n_away", "Did not"),
            ("Mean", "decimal", "away", "Did not"),
            ("Estimate", "decimal", "difference.value", "Difference"),
            ("95 % interval", "range", "difference.ci", "Difference"),
            ("p, adjusted", "p", "p_adjusted", "Difference"),
        ],
        "Welch’s t test, adjusted over all tests of this chapter.",
        first="In the first wave",
    )


def change_table(report: ReportJson) -> Table:
    change = report["wave"]["change"]
    rows = [
        ("Certainty, same items", change["certainty"]),
        ("Share of right answers, same items", change["correct"]),
    ]
    note = (
        "Later minus first wave, for those who completed both. Same items: the interval is for "
        "other people and questions like these."
    )
    if whole := change.get("of_people"):
        rows += [
            ("Certainty, all items of each person", whole["certainty"]),
            ("Share of right answers, all items of each person", whole["correct"]),
        ]
        note += (
            " All items: the mean of each person’s change, for other people with these items. The "
            "waves have other items, so it also contains how much easier these are."
        )
    return table_of_entries(
        "wave_change",
        "Changes of the same people",
        rows,
        [("Mean change", "decimal", "value"), ("95 % interval", "range", "ci")],
        note,
        first="What",
    )


class WaveSection(Section):
    """Who came back for a later wave, and how their answers changed."""

    name = "wave"
    title = "Waves"
    inside = "Who came back, and how answers of the same people changed"
    has_claims = True
    keys = """
wave | object | The people of the first wave in this later one.
wave.number | count | Number of this wave.
wave.items | text | Whether it has the same, some or other items.
wave.people | count | People who completed the first wave and count in it.
wave.invited | count | Those of them who were invited.
wave.came | count | Those of them who came.
wave.completed | count | Those of them who completed this wave too, counted in it or not.
wave.returned | object | Share of the people who completed this wave too.
wave.attrition | object | Who came back.
attrition.by_group | list | By each question about themselves.
by_group.question | text | The question.
by_group.answers | list | The people of each answer, and how many came back.
answers.answer | text | The answer.
by_group.p | p | Fisher's exact test.
by_group.p_adjusted | p | The same, adjusted over all tests of the chapter (Holm).
attrition.by_answers | list | By means of their answers in the first wave.
by_answers.about | text | The mean: certainty, or correct for the share of right answers.
by_answers.n_back | count | People with it who came back.
by_answers.n_away | count | People with it who did not.
by_answers.back | number | Mean of those who came back.
by_answers.away | number | Mean of those who did not.
by_answers.difference | object | The first minus the second.
by_answers.p | p | Welch's t test.
by_answers.p_adjusted | p | The same, adjusted over all tests of the chapter (Holm).
wave.change | object | Changes within those who completed both waves.
change.answers | count | Pairs of answers of one person to one item.
change.people | count | People with such a pair.
change.questions | count | Items with such a pair.
change.repeated | object | Share of the answers that were the same.
change.certainty | object | Later minus first certainty, same items.
change.correct | object | Later minus first share of right answers, same items.
change.of_people | object | Means over people of the change of their own means, if the items differ.
of_people.certainty | object | Of certainty.
of_people.correct | object | Of the share of right answers.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "wave" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty in a study that is no later wave."""
        answers = study.data.of(WaveAnswers)
        if answers is None:
            return {}
        return {
            "wave": _people(answers)
            | {"attrition": _attrition(answers), "change": _change(answers)}
        }

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        return {KIND: [test["p_adjusted"] for test in _tests(report)]} if "wave" in report else {}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "wave" in report:
            if report["wave"]["attrition"]["by_group"]:
                yield group_table(report)
            yield answers_table(report)
            yield change_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if "wave" not in report:
            return
        yield Sentence("finding", _returned(report["wave"]))
        tests = _tests(report)
        level = level_of(report, KIND)
        low = [test for test in tests if holds(test, level, "p_adjusted")]
        names = [part.get("question") or _ABOUT[part["about"]].lower() for part in low]
        if low:
            form = (
                "Who completed this wave differs by {names}, so changes may be those of a "
                "selection."
            )
            yield Sentence("finding", say(form, names=bare(listed(names))))
        elif any(test["p_adjusted"] is not None for test in tests):
            whether = clause("those who completed this wave differ from those who did not")
            yield Sentence("finding", say("{open}.", open=cannot_tell(whether)))


def _tests(report: ReportJson) -> list[ReportJson]:
    return [*report["wave"]["attrition"]["by_group"], *report["wave"]["attrition"]["by_answers"]]


def _returned(entry: ReportJson) -> Text:
    """How many people of the first wave completed this one."""
    rule = "counted in the first wave"
    people = Population("person", rule, entry["people"], path="wave.people")
    share: Text | Words = NOTHING
    if people.n >= TOO_SMALL:
        value = Quantity("share", people, entry["returned"]["value"], "wave.returned.value")
        share = clause(" ({x})", x=value)
    return say(
        "{n} of {n.full} completed wave {number}{share}.",
        n=Quantity("count", people, entry["completed"], "wave.completed"),
        number=Quantity("count", None, entry["number"], "wave.number"),
        share=share,
    )


CHAPTER = WaveSection()
