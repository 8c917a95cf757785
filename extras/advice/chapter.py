"""Answers before and after an advice: how far people and judges follow it."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from analysis.data.arrays import Codes
from analysis.report.encode import Json, cell, put, tested
from analysis.report.section import Analysis, Report, Section, Sentence
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.numbers import percent
from analysis.stats.comparison.general_difference import GeneralDifference
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.shared_variance import Sharing
from extras.advice.answers_before import Advised, Before
from extras.advice.persuasion import Persuasion, persuasion

_PEOPLE = "People"


def advice(study: ReportedStudy) -> Json:
    """The entry of report.json; empty for a study whose items have no advice."""
    given = study.data.of(Advised)
    if given is None:
        return {}
    answers = study.data.answers
    people = _compare(
        study,
        given.favors,
        given.people,
        answers.item,
        answers.choice.astype(np.int64),
        answers.certainty,
        study.shared.answers,
    )
    judges = []
    for run in study.data.runs:
        if (before := given.runs.get(run.run)) is None:
            continue
        rows = run.judgments
        codes = {
            "item": rows.item,
            "persona": study.shared.persona[rows.item],
            "question": study.shared.question[rows.item],
        }
        found = _compare(
            study,
            given.favors,
            before,
            rows.item,
            rows.choice.astype(np.int64),
            rows.certainty,
            Sharing.of_items(len(rows), codes),
        )
        judges.append(identity(run) | found)
    kinds = Counter(kind for kind in given.kinds if kind)
    return {
        "advice": {
            "items": sum(kinds.values()),
            "kinds": dict(sorted(kinds.items())),
            "favors": int((given.favors >= 0).sum()),
            "people": people,
            "judges": judges,
        }
    }


def _compare(
    study: ReportedStudy,
    favors: Codes,
    before: Before,
    item: IntArray,
    after: IntArray,
    certainty: FloatArray,
    sharing: Sharing,
) -> Json:
    found = persuasion(
        before.choice.astype(np.int64),
        after,
        before.certainty,
        certainty,
        favors[item].astype(np.int64),
        sharing,
        threshold=study.threshold,
    )
    return _entry(found) | {"accuracy": _accuracy(study, before, item, after)}


def _entry(found: Persuasion) -> Json:
    out: Json = {"n": found.n}
    for name in ("changed", "persuaded", "persuaded_sure", "persuaded_unsure", "dissuaded"):
        out[name] = cell(getattr(found, name), "value", "count")
    for name in ("shift", "weight", "certainty"):
        difference: GeneralDifference = getattr(found, name)
        out[name] = {"n": difference.n} | tested(difference)
    return out


def _accuracy(study: ReportedStudy, before: Before, item: IntArray, after: IntArray) -> Json:
    """The share of right answers before and after, among those that were given twice."""
    truth = study.truth[item]
    scored = (truth >= 0) & (before.choice >= 0) & (after >= 0)
    out: Json = {"n": int(scored.sum())}
    for name, choice in (("before", before.choice), ("after", after)):
        right = (choice == truth)[scored]
        put(out, name, float(right.mean()) if right.size else None)
    return out


def _labelled(report: Report) -> list[tuple[str, Report]]:
    found = report["advice"]
    return [(_PEOPLE, found["people"]), *((e["judge"], e) for e in found["judges"])]


def advice_table(report: Report) -> Table:
    return table_of_entries(
        "advice",
        "Answers before and after the advice",
        _labelled(report),
        [
            ("Answers given twice", "count", "n"),
            ("Changed", "percent", "changed.value"),
            ("Answers", "count", "persuaded.n", "Against the advice at first"),
            ("now for it", "percent", "persuaded.value", "Against the advice at first"),
            ("95 % interval", "percent_range", "persuaded.ci", "Against the advice at first"),
            ("first certain", "percent", "persuaded_sure.value", "Against the advice at first"),
            ("uncertain", "percent", "persuaded_unsure.value", "Against the advice at first"),
            ("Answers", "count", "dissuaded.n", "With the advice at first"),
            ("now against it", "percent", "dissuaded.value", "With the advice at first"),
            ("before", "percent", "accuracy.before", "Right"),
            ("after", "percent", "accuracy.after", "Right"),
        ],
        "Answers against the advice that stay as they were are anchored in the first answer. "
        f"Certain: at least {report['parameters']['threshold']}.",
        first="Who",
    )


def advice_weight_table(report: Report) -> Table:
    return table_of_entries(
        "advice_weight",
        "How much the advice weighs",
        _labelled(report),
        [
            ("Shift", "points", "shift.value", "Toward the response of the advice"),
            ("95 % interval", "points_range", "shift.ci", "Toward the response of the advice"),
            ("p", "p", "shift.p", "Toward the response of the advice"),
            ("Mean", "number", "weight.value", "Weight of the advice"),
            ("95 % interval", "range", "weight.ci", "Weight of the advice"),
            ("Change", "points", "certainty.value", "Certainty where the choice was kept"),
            (
                "95 % interval",
                "points_range",
                "certainty.ci",
                "Certainty where the choice was kept",
            ),
        ],
        "Shift: share of answers for the response of the advice, after less before; a tie counts "
        "half. Weight: 0 stays, 1 takes over the advice with full certainty. Intervals hold for "
        "items, people, personas and questions in general.",
        first="Who",
    )


class AdviceSection(Section):
    """How far people and judges follow an advice that they see after their first answer."""

    name = "advice"
    title = "Advice"
    inside = "Answers before and after the advice"
    keys = """
advice | object | Answers before and after the advice, of people and of each judge.
advice.items | count | Items with advice.
kinds | object | Items by kind of advice.
kinds.* | count | Items with this kind of advice.
favors | count | Items whose advice argues for one response.
changed | object | Answers that changed after the advice.
persuaded | object | Answers against the advice at first that are for it afterwards.
persuaded_sure | object | The same of answers that were certain at first.
persuaded_unsure | object | The same of answers that were uncertain at first.
dissuaded | object | Answers with the advice at first that are against it afterwards.
count | count | Answers for which the statement holds.
advice.shift | object | Share of answers for the response of the advice, after less before.
advice.weight | object | Weight of the advice: 0 stays, 1 takes it over with full certainty.
advice.certainty | object | Change of certainty where the choice was kept.
advice.accuracy | object | Right answers among those that were given twice.
before | share | Right before the advice.
after | share | Right after the advice.
"""
    analyses = (Analysis("advice", tables=("advice", "advice_weight"), paths=("advice",)),)

    def is_needed(self, report: Report) -> bool:
        return "advice" in report

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return advice(study)

    def tables(self, report: Report) -> Iterator[Table]:
        if "advice" in report:
            yield advice_table(report)
            yield advice_weight_table(report)

    def sentences(self, report: Report) -> Iterator[Sentence]:
        for who, entry in _labelled(report) if "advice" in report else ():
            moved = entry["persuaded"]
            if moved["value"] is not None:
                yield Sentence.of(
                    "finding",
                    f"{who}: of {moved['n']:,} answers against the advice, "
                    f"{percent(moved['value'])} chose its response after it.",
                )


CHAPTER = AdviceSection()
