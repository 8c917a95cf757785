"""What the codes of a file with labels mean: the answers, and why a value is missing."""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

from analysis.data.answer_rows import COUNTED
from analysis.exports.columns import Column
from analysis.exports.rows import exported_id
from analysis.exports.table_files import ExportTableFile
from annotation.files.answers_out import INPUTS
from annotation.models import Annotation, Annotator, Assignment
from extras.documents.data_files.other_shapes import CODES
from studies.models import Item, Study
from studies.prompts import BANDS


class WhyMissing(IntEnum):
    """Why a value is missing, as far as it is known.

    The values are those of SPSS, below every number that has a reason; Stata has `letter`.
    """

    NOT_ASKED = -99
    SKIPPED = -98
    WITHDRAWN = -97
    UNDEFINED = -96

    @property
    def letter(self) -> str:
        return "abcd"[self - WhyMissing.NOT_ASKED]

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", " ")

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    WhyMissing.NOT_ASKED: "The person or the judge was not asked for this value.",
    WhyMissing.SKIPPED: "The person skipped the item, or the question was not sent to the judge.",
    WhyMissing.WITHDRAWN: "The person withdrew from the study.",
    WhyMissing.UNDEFINED: "There is nothing to state: the certainty of a tie, the majority of "
    "equal counts, or a reply of a judge that could not be read.",
}

_CHOICE = tuple(CODES)
_SIDE_KEYS = ("r1", "r2")
# Words in the order of their codes, which start at 1. Words that are not listed get the next codes.
_WORDS: dict[str, tuple[str, ...]] = {
    "choice": _CHOICE,
    "initial_choice": _CHOICE,
    "verdict": _CHOICE,
    "shown_first": _SIDE_KEYS,
    "choice_side": ("A", "B", "C"),
    "rater_kind": ("human", "model"),
    "certainty_band": tuple(band.slug for band in sorted(BANDS, key=lambda band: band.high)),
    "certainty_input": (*INPUTS.values(), "model"),
    "setting": ("standard", "certainty", "tie"),
    "parse_status": ("ok", "regenerated", "unparseable", "refused", "skipped", "error"),
    "standing": tuple(Annotation.Standing.values),
    "translated": ("page", "texts"),
    "state": tuple(Annotator.State.values),
    "verdict_reason": ("tied", "no_answers"),
    "anchor": ("start", "end", "again"),
    "split": tuple(Item.Split.values),
}
_NOT_ANSWERS = ("item_id", "topic", "rater_id")


def words_of(table: str, column: Column) -> tuple[str, ...] | None:
    """The words of a column with codes, in their order; None for a column without."""
    if table in ("wide", "reliability") and column.name not in _NOT_ANSWERS:
        is_answer = column.kind == ("text" if table == "wide" else "integer")
        return _CHOICE if is_answer else None
    if table == "aggregates" and column.name == "first_person":
        return _CHOICE
    return _WORDS.get(column.name) if column.kind == "text" else None


# A row as the table has it in JSON Lines.
Rule = Callable[[Mapping[str, Any]], WhyMissing | None]


def rules_of(table: ExportTableFile) -> dict[str, Rule]:
    """Why a value is missing, by the name of the column; a column without a rule cannot say why.

    A missing value without a reason, such as a time that the export leaves out, has no code.
    """
    if table.name == "wide" and table.study is not None:
        return _rules_of_wide(table.columns, _Seats(table.study))
    if table.name == "reliability" and table.study is not None:
        seats = _Seats(table.study)
        keys = (column.name for column in table.columns[1:])
        return {key: lambda row, key=key: seats.why(row["rater_id"], key) for key in keys}  # type: ignore[misc]
    return _RULES.get(table.name, {})


def _of_certainty(row: Mapping[str, Any]) -> WhyMissing | None:
    if row["choice"] is None:
        return _of_reply(row)
    return WhyMissing.UNDEFINED if row["choice"] == "tie" else WhyMissing.NOT_ASKED


def _of_reply(row: Mapping[str, Any]) -> WhyMissing | None:
    status = row["parse_status"]
    if status == "skipped":
        return WhyMissing.SKIPPED
    unread = status in ("unparseable", "refused", "error")
    return WhyMissing.UNDEFINED if unread else None


def _of_model(row: Mapping[str, Any]) -> WhyMissing | None:
    return WhyMissing.NOT_ASKED if row["choice"] is not None else _of_reply(row)


def _of_advice(row: Mapping[str, Any]) -> WhyMissing | None:
    if row["initial_choice"] is None:
        return WhyMissing.NOT_ASKED
    return WhyMissing.UNDEFINED if row["initial_choice"] == "tie" else WhyMissing.NOT_ASKED


def _of_verdict(row: Mapping[str, Any]) -> WhyMissing | None:
    return WhyMissing.UNDEFINED if row["verdict"] is None else None


def _of_mean(row: Mapping[str, Any]) -> WhyMissing | None:
    nothing = row["verdict"] in (None, "tie")
    return WhyMissing.UNDEFINED if nothing else WhyMissing.NOT_ASKED


def _of_correct(row: Mapping[str, Any]) -> WhyMissing:
    return WhyMissing.UNDEFINED


def _of_signs(row: Mapping[str, Any]) -> WhyMissing | None:
    """Signs are deleted at a withdrawal; otherwise they were not measured, or not exported."""
    return WhyMissing.WITHDRAWN if row["state"] == Annotator.State.WITHDREW else None


def _of_person(row: Mapping[str, Any]) -> WhyMissing | None:
    return _of_signs(row) or (None if row["answers"] else WhyMissing.UNDEFINED)


_REPLY: dict[str, Rule] = {
    "choice": _of_reply,
    "choice_side": _of_reply,
    "certainty": _of_certainty,
    "certainty_band": _of_certainty,
}
_RULES: dict[str, dict[str, Rule]] = {
    "annotations": {
        "certainty": _of_certainty,
        "certainty_band": _of_certainty,
        "initial_choice": _of_advice,
        "initial_certainty": _of_advice,
    },
    "judgments": _REPLY
    | dict.fromkeys(
        ("probability_r1", "probability_r2", "probability_tie", "native_certainty"), _of_model
    ),
    "anchors": {"choice": _of_reply, "certainty": _of_certainty},
    "aggregates": {
        "verdict": _of_verdict,
        "share": _of_verdict,
        "certainty": _of_mean,
        "correct": _of_correct,
    },
    "annotators": {"median_active_ms": _of_person, "machine_points": _of_signs},
}


class _Seats:
    """Items that annotators did not answer, or whose answers do not count."""

    def __init__(self, study: Study) -> None:
        seats = (
            Assignment.objects.filter(annotator__study=study, item__split=Item.Split.MAIN)
            .exclude(annotation__standing__in=COUNTED)
            .values_list("annotator__pseudonym", "item__key", "state")
        )
        # A ranking of a whole set answers items without a seat, so a seat says nothing there.
        self._is_known = not study.shows_whole_sets
        self._states = {
            (exported_id(study.export_key, person), key): state
            for person, key, state in seats.iterator()
        }

    def why(self, rater: str, key: str) -> WhyMissing | None:
        if not self._is_known:
            return None
        state = self._states.get((rater, key))
        if state is None:
            return WhyMissing.NOT_ASKED
        return WhyMissing.SKIPPED if state == Assignment.State.SKIPPED else None


def _rules_of_wide(columns: tuple[Column, ...], seats: _Seats) -> dict[str, Rule]:
    """Rules for each rater's two columns; a row names the raters and runs that it has."""
    rules: dict[str, Rule] = {}
    for column in columns:
        name = column.name
        if name in (*_NOT_ANSWERS, "first_person"):
            continue
        of_choice = name.removesuffix("_certainty")
        why = _of_annotator(of_choice, seats) if of_choice.startswith("R_") else _of_run(of_choice)
        rules[name] = why if name == of_choice else _of_wide_certainty(of_choice, why)
    return rules


def _of_annotator(column: str, seats: _Seats) -> Rule:
    rater = column.replace("_", "-")
    return lambda row: seats.why(rater, row["item_id"])


def _of_run(column: str) -> Rule:
    return lambda row: WhyMissing.UNDEFINED if column in row else WhyMissing.NOT_ASKED


def _of_wide_certainty(choice: str, why: Rule) -> Rule:
    def rule(row: Mapping[str, Any]) -> WhyMissing | None:
        chosen = row.get(choice)
        if chosen is None:
            return why(row)
        return WhyMissing.UNDEFINED if chosen == "tie" else WhyMissing.NOT_ASKED

    return rule
