"""Answers before and after advice: how far people and judges follow it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Codes
from analysis.report.report_json import Json, cell, put, tested
from analysis.report.section import Analysis, ReportJson, Section, Sentence
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import percent
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import BoolArray, FloatArray, IntArray, Proportion
from analysis.stats.core.shared_variance import Sharing
from extras.advice.answers_before import Advised, Before

SURE = 100.0


@dataclass(frozen=True)
class Persuasion:
    """How far answers follow advice, and how far they stay unchanged.

    Attributes
    ----------
    n : int
        Answers given both before and after the advice.
    changed : Proportion
        Of these, those with a different choice after it.
    persuaded : Proportion
        Of the answers against the advice, those that chose its response after it. The others stayed
        with their first answer: that is anchoring.
    dissuaded : Proportion
        Of the answers that agreed with the advice, those that left its response.
    persuaded_sure, persuaded_unsure : Proportion
        `persuaded` among first answers with a certainty of at least the threshold, and below it.
    shift : GeneralDifference
        Share that chose the advice's response after it, minus before it; a tie counts half.
    weight : GeneralDifference
        Mean weight of advice: the fraction of the way from the first answer to full certainty of
        the advice's response. 0 stays, 1 follows; below 0 moves away, at most by 1.
    certainty : GeneralDifference
        Mean change of the certainty, as a share of 100, of answers that kept their choice.
    """

    n: int
    changed: Proportion
    persuaded: Proportion
    dissuaded: Proportion
    persuaded_sure: Proportion
    persuaded_unsure: Proportion
    shift: GeneralDifference
    weight: GeneralDifference
    certainty: GeneralDifference


def persuasion(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    certainty_before: npt.ArrayLike,
    certainty_after: npt.ArrayLike,
    favors: npt.ArrayLike,
    sharing: Sharing,
    *,
    threshold: float = 80.0,
    level: float = 0.95,
) -> Persuasion:
    r"""Compare answers before and after advice.

    Parameters
    ----------
    before, after : array_like of int, shape (n,)
        0, 1 or 2 for response 1, response 2 or a tie; -1 where an answer is missing.
    certainty_before, certainty_after : array_like of float, shape (n,)
        1 to 100; NaN where none was given.
    favors : array_like of int, shape (n,)
        The response that the advice argues for, 0 or 1; -1 if it argues for neither.
    sharing : Sharing
        What the answers share: items, people, personas, questions.
    threshold : float, default 80
        The certainty from which a first answer counts as sure.
    level : float, default 0.95

    Returns
    -------
    Persuasion
        Undefined parts have a reason: ``"empty_group"`` without such answers.

    Notes
    -----
    With :math:`s=\pm c` for a certainty c, positive for the response of the advice and 0 for a tie,
    the weight of an advice is :math:`(s_{after}-s_{before})/(100-s_{before})`, the measure of
    judge-adviser studies [1]_ with the advice as full certainty, cut at -1: otherwise an answer
    that begins near full certainty and turns would outweigh all others. Answers that begin with
    full certainty of the advice's response have no weight.

    References
    ----------
    .. [1] I. Yaniv, "Receiving other people's advice: Influence and benefit", Organizational
       Behavior and Human Decision Processes 93(1), 2004.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = persuasion(
    ...     [0, 0, 1, 1] * 10, [0, 1, 1, 0] * 10, [60.0] * 40, [60.0] * 40, [1] * 40, sharing
    ... )
    >>> found.changed.value, found.persuaded.value, found.dissuaded.value, found.shift.value
    (0.5, 0.5, 0.5, 0.0)
    """
    first, second = np.asarray(before), np.asarray(after)
    sure_first, sure_second = (
        np.asarray(c, dtype=np.float64) for c in (certainty_before, certainty_after)
    )
    side = np.asarray(favors)
    both = (first >= 0) & (second >= 0)
    argued = both & (side >= 0)
    against = argued & (first != side) & (first != 2)
    with_it = argued & (first == side)

    def share(event: BoolArray, among: BoolArray) -> Proportion:
        return general_proportion(event[among], sharing.take(among), level=level)

    def mean(values: FloatArray) -> GeneralDifference:
        return general_difference(values, sharing, level=level)

    shift = _credit(second, side) - _credit(first, side)
    start, end = _signed(first, sure_first, side), _signed(second, sure_second, side)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(argued & (start < SURE), (end - start) / (SURE - start), np.nan)
        weight = np.maximum(weight, -1.0)
    kept = both & (first == second)
    return Persuasion(
        n=int(both.sum()),
        changed=share(first != second, both),
        persuaded=share(second == side, against),
        dissuaded=share(second != side, with_it),
        persuaded_sure=share(second == side, against & (sure_first >= threshold)),
        persuaded_unsure=share(second == side, against & (sure_first < threshold)),
        shift=mean(np.where(argued, shift, np.nan)),
        weight=mean(weight),
        certainty=mean(np.where(kept, (sure_second - sure_first) / SURE, np.nan)),
    )


def _credit(choice: npt.NDArray[np.integer], side: npt.NDArray[np.integer]) -> FloatArray:
    """1 for the advice's response, 1/2 for a tie, 0 for the other response."""
    credit: FloatArray = np.where(choice == 2, 0.5, (choice == side).astype(np.float64))
    return credit


def _signed(
    choice: npt.NDArray[np.integer], certainty: FloatArray, side: npt.NDArray[np.integer]
) -> FloatArray:
    """The certainty, negative for the other response, 0 for a tie; NaN where it is unknown."""
    signed: FloatArray = np.where(choice == 2, 0.0, np.where(choice == side, certainty, -certainty))
    return signed


_PEOPLE = "People"


def _compare(
    study: ReportedStudy,
    favors: Codes,
    before: Before,
    item: IntArray,
    after: IntArray,
    certainty: FloatArray,
    sharing: Sharing,
) -> Json:
    measured = persuasion(
        before.choice.astype(np.int64),
        after,
        before.certainty,
        certainty,
        favors[item].astype(np.int64),
        sharing,
        threshold=study.threshold,
    )
    return _entry(measured) | {"accuracy": _accuracy(study, before, item, after)}


def _entry(persuasion: Persuasion) -> Json:
    out: Json = {"n": persuasion.n}
    for name in ("changed", "persuaded", "persuaded_sure", "persuaded_unsure", "dissuaded"):
        out[name] = cell(getattr(persuasion, name), "value", "count")
    for name in ("shift", "weight", "certainty"):
        difference: GeneralDifference = getattr(persuasion, name)
        out[name] = {"n": difference.n} | tested(difference)
    return out


def _accuracy(study: ReportedStudy, before: Before, item: IntArray, after: IntArray) -> Json:
    """The share of right answers before and after, among answers given twice."""
    truth = study.truth[item]
    scored = (truth >= 0) & (before.choice >= 0) & (after >= 0)
    out: Json = {"n": int(scored.sum())}
    for name, choice in (("before", before.choice), ("after", after)):
        right = (choice == truth)[scored]
        put(out, name, float(right.mean()) if right.size else None)
    return out


def _labelled(report: ReportJson) -> list[tuple[str, ReportJson]]:
    sides = report["advice"]
    return [(_PEOPLE, sides["people"]), *((e["judge"], e) for e in sides["judges"])]


def advice_table(report: ReportJson) -> Table:
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
        "Answers against the advice that do not change are anchored in the first answer. Certain: "
        f"at least {report['parameters']['threshold']}.",
        first="Who",
    )


def advice_weight_table(report: ReportJson) -> Table:
    return table_of_entries(
        "advice_weight",
        "Weight of the advice",
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
        "Shift: share of answers for the advice’s response, after minus before; a tie counts half. "
        "Weight: 0 stays, 1 adopts the advice with full certainty. Intervals hold for items, "
        "people, personas and questions in general.",
        first="Who",
    )


class AdviceSection(Section):
    """How far people and judges follow advice that they see after their first answer."""

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
persuaded_sure | object | The same for answers that were certain at first.
persuaded_unsure | object | The same for answers that were uncertain at first.
dissuaded | object | Answers with the advice at first that are against it afterwards.
count | count | Answers for which the statement holds.
advice.shift | object | Share of answers for the advice's response, after minus before.
advice.weight | object | Weight of the advice: 0 stays, 1 adopts it with full certainty.
advice.certainty | object | Change of certainty where the choice was kept.
advice.accuracy | object | Right answers among those given twice.
before | share | Right before the advice.
after | share | Right after the advice.
"""
    analyses = (Analysis("advice", tables=("advice", "advice_weight"), paths=("advice",)),)

    def is_needed(self, report: ReportJson) -> bool:
        return "advice" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty for a study without advice."""
        advised = study.data.of(Advised)
        if advised is None:
            return {}
        answers = study.data.answers
        people = _compare(
            study,
            advised.favors,
            advised.people,
            answers.item,
            answers.choice.astype(np.int64),
            answers.certainty,
            study.shared.answers,
        )
        judges = []
        for run in study.data.runs:
            if (before := advised.runs.get(run.run)) is None:
                continue
            rows = run.judgments
            codes = {
                "item": rows.item,
                "persona": study.shared.persona[rows.item],
                "question": study.shared.question[rows.item],
            }
            compared = _compare(
                study,
                advised.favors,
                before,
                rows.item,
                rows.choice.astype(np.int64),
                rows.certainty,
                Sharing.of_items(len(rows), codes),
            )
            judges.append(identity(run) | compared)
        kinds = Counter(kind for kind in advised.kinds if kind)
        return {
            "advice": {
                "items": sum(kinds.values()),
                "kinds": dict(sorted(kinds.items())),
                "favors": int((advised.favors >= 0).sum()),
                "people": people,
                "judges": judges,
            }
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "advice" in report:
            yield advice_table(report)
            yield advice_weight_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for who, entry in _labelled(report) if "advice" in report else ():
            moved = entry["persuaded"]
            if moved["value"] is not None:
                yield Sentence.of(
                    "finding",
                    f"{who}: of {moved['n']:,} answers against the advice, "
                    f"{percent(moved['value'])} chose its response after it.",
                )


CHAPTER = AdviceSection()
