"""How judges do where people's preference is strong, and how well they predict one annotator."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.report.quantities import Name, Population, Quantity, Text, Words, clause, say
from analysis.report.report_json import Json, put, tested
from analysis.report.results import Finding, cannot_tell
from analysis.report.section import ReportJson
from analysis.report.study import ReportedStudy, identity, put_holm
from analysis.report.tables import Table, table_of_entries
from analysis.report.tested import ReportedTest
from analysis.report.words import run_name
from analysis.stats.accuracy.general_accuracy import general_contrast
from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.core.results import FloatArray
from extras.graded.agreement import choice_of_others, means, signed
from extras.graded.graded_answers import GradedAnswers

# A mean preference nearer to “clearly” (2) than to “slightly” (1).
STRONG_FROM = 1.5
# Kinds of claims.
STRONGER, ONE = "agreement by strength", "predicting one annotator"


def strength_of_items(study: ReportedStudy, graded_answers: GradedAnswers) -> FloatArray:
    """How strong people's mean preference is, 0 to 3, shape (items,); NaN without one."""
    answers = study.data.answers
    preference = signed(answers.choice.astype(np.int64), graded_answers.people.strength)
    return np.abs(means(answers.item, preference, len(study.data.items)))


def by_strength(study: ReportedStudy, graded_answers: GradedAnswers) -> list[Json]:
    """How often judges have people's majority where its preference is strong, and slight."""
    strength, majority = strength_of_items(study, graded_answers), study.people.answer
    judges = []
    for run, judge in zip(study.data.runs, study.judges, strict=True):
        both = (judge.answer >= 0) & (majority >= 0) & ~np.isnan(strength)
        same = np.where(both, (judge.answer == majority).astype(np.float64), np.nan)
        strong, slight = both & (strength >= STRONG_FROM), both & (strength < STRONG_FROM)
        entry = identity(run)
        for name, items in (("strong", strong), ("slight", slight)):
            entry[name] = _share(same[items])
        entry["difference"] = tested(
            general_contrast(same, strong, same, slight, study.shared.items)
        )
        judges.append(entry)
    put_holm([entry["difference"] for entry in judges])
    return judges


def predicting_one(study: ReportedStudy) -> list[Json]:
    """How often a judge has one annotator's answer, next to the majority of the other annotators.

    Both over the answers to items that the judge decided and on which the others have a majority.
    """
    votes = study.votes
    others = choice_of_others(votes.item, votes.choice, study.people.majority.counts)
    judges = []
    for run, judge in zip(study.data.runs, study.judges, strict=True):
        predicted = judge.answer[votes.item]
        both = (others >= 0) & (predicted >= 0)
        of_judge, of_others = predicted == votes.choice, others == votes.choice
        gap = np.where(both, of_judge.astype(np.float64) - of_others, np.nan)
        judges.append(
            identity(run)
            | {
                "by_judge": _share(of_judge[both].astype(np.float64)),
                "by_others": _share(of_others[both].astype(np.float64)),
                "difference": tested(general_difference(gap, study.shared.answers)),
            }
        )
    put_holm([entry["difference"] for entry in judges])
    return judges


def _share(hits: FloatArray) -> Json:
    out: Json = {"n": int(hits.size)}
    put(out, "value", float(hits.mean()) if hits.size else None)
    return out


def strength_gap_table(report: ReportJson) -> Table:
    return _gap_table(
        "graded_strong",
        "Judges with people’s majority, where its preference is strong and where it is slight",
        report["graded"]["strength"]["by_strength"],
        (("Strong", "strong"), ("Slight", "slight")),
        f"Strong: people’s mean preference is {STRONG_FROM} or more of 3, nearer to “clearly” than "
        "to “slightly”. Ties count as 0.",
    )


def one_annotator_table(report: ReportJson) -> Table:
    return _gap_table(
        "graded_one",
        "Who predicts the answer of one annotator",
        report["graded"]["one"],
        (("Judge", "by_judge"), ("Other annotators", "by_others")),
        "Answers to items that the judge decided and on which the other annotators have a "
        "majority.",
    )


def _gap_table(
    name: str, title: str, judges: Sequence[Json], sides: Sequence[tuple[str, str]], note: str
) -> Table:
    fields: list[Any] = []
    for label, key in sides:
        fields += [("n", "count", f"{key}.n", label), ("Same", "percent", f"{key}.value", label)]
    fields += [
        ("Points", "points", "difference.value", "Difference"),
        ("95 % interval", "points_range", "difference.ci", "Difference"),
        ("Holm p", "p", "difference.p_holm", "Difference"),
    ]
    rows = [(run_name(judge, judges), judge) for judge in judges]
    note += " Intervals hold for items, people, personas and questions in general."
    return table_of_entries(name, title, rows, fields, note, first="Judge")


def strength_sentences(report: ReportJson) -> Iterator[Text]:
    form = "{who} has the choice of people’s majority {way} often where people prefer strongly"
    number = "{strong} of {strong.full} and {slight} of {slight.full}, a difference of {x} points"
    judges = []
    for n, judge in enumerate(report["graded"]["strength"]["by_strength"]):
        path = f"graded.strength.by_strength.{n}"
        sides = {
            key: Population("item", f"with a {key} preference", judge[key]["n"])
            for key in ("strong", "slight")
        }
        both = Population("item", "with a strength", sum(of.n for of in sides.values()))
        judges.append(_JudgeTested.of(report, STRONGER, judge, path, both, sides))
    return _sentences(judges, form, ("more", "less"), number)


def one_annotator_sentences(report: ReportJson) -> Iterator[Text]:
    form = "{who} predicts the answer of one annotator {way} than the other annotators do"
    number = "{by_judge} and {by_others}, a difference of {x} points"
    judges = []
    for n, judge in enumerate(report["graded"]["one"]):
        path = f"graded.one.{n}"
        of = Population("answer", n=judge["by_judge"]["n"], path=f"{path}.by_judge.n")
        sides = dict.fromkeys(("by_judge", "by_others"), of)
        judges.append(_JudgeTested.of(report, ONE, judge, path, of, sides))
    return _sentences(judges, form, ("better", "worse"), number)


@dataclass(frozen=True)
class _JudgeTested:
    """The test of a judge, and the two shares that it compares."""

    judge: Json
    test: ReportedTest
    shares: Mapping[str, Quantity]

    @classmethod
    def of(
        cls,
        report: ReportJson,
        kind: str,
        judge: Json,
        path: str,
        of: Population,
        sides: Mapping[str, Population],
    ) -> "_JudgeTested":
        shares = {
            key: Quantity("share", side, judge[key]["value"], f"{path}.{key}.value")
            for key, side in sides.items()
            if side.n
        }
        test = ReportedTest.at(report, kind, judge["difference"], f"{path}.difference", of)
        return cls(judge, test, shares)


def _sentences(
    judges: Sequence[_JudgeTested], form: str, ways: tuple[str, str], number: str
) -> Iterator[Text]:
    """What holds of each judge; one sentence if nothing does. The table has all numbers."""
    held = [one for one in judges if one.test.finding is not Finding.OPEN]
    entries = [one.judge for one in judges]
    above, below = ways
    if len(judges) > 1 and not held:
        asked = clause(form, who=Words("any judge"), way=Words(f"{above} or {below}"))
        yield say("{open}.", open=cannot_tell(asked))
    for one in held if len(judges) > 1 else judges:
        who = Name(run_name(one.judge, entries))
        yield one.test.sentence(
            clause(form, who=who, way=Words(above)),
            clause(form, who=who, way=Words(below)),
            whether=clause(form, who=who, way=Words(f"{above} or {below}")),
            number=number,
            **one.shares,
        )
