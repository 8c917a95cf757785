"""DailyDilemmas (Chiu et al. 2024): two ways to act in a situation, without a human answer."""

from collections.abc import Iterator, Mapping
from typing import Any

from extras.datasets.pairs import is_usable, pair, text_of
from studies.importers.files.faults import ImportRow
from studies.importers.sets.data_set import (
    ALL,
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    SetFile,
    Tally,
    chosen,
    csv_rows,
    for_id,
    json_rows,
)
from studies.texts.cells import literal

_ACTIONS = ("to_do", "not_to_do")
_QUESTION = "What would this person do?"


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    part = files.find("details") or files.need("actions")
    number = "idx" if part is files.find("details") else "dilemma_idx"
    open_rows: dict[str, dict[str, tuple[int, Mapping[str, Any]]]] = {}
    for line, raw in _rows(part, number, tally):
        row = ImportRow(line, part.name)
        key = str(raw.get(number) or "").strip()
        if not key:
            row.fault(number, "value is missing", f"{number} is missing.")
        action = row.one_of(raw, "action_type", _ACTIONS)
        for name in ("dilemma_situation", "action"):
            text_of(row, raw, name)
        if not action and not row.faults:
            row.fault("action_type", "value is missing", "action_type is missing.")
        sides = open_rows.setdefault(key, {})
        if action in sides:
            first = sides[action][0]
            row.fault("action_type", "action twice", f"{action} of {key} is on line {first} too.")
        tally.faults += row.faults
        if not row.faults:
            sides[action] = (line, raw)
    for key, sides in open_rows.items():
        if len(sides) < len(_ACTIONS):
            tally.drop("situations with only one action")
        elif not chosen(options["topics"], str(sides["to_do"][1].get("topic_group") or "")):
            tally.drop("situations of another topic")
        else:
            yield from _made(part, key, sides, tally)


def _rows(part: SetFile, number: str, tally: Tally) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a CSV, JSON Lines or Parquet file; situation numbers are text."""
    with part.open() as stream:
        is_json = stream.read(3).removeprefix(b"\xef\xbb\xbf")[:1] == b"{"
    if not is_json:
        yield from csv_rows(part, tally)
        return
    for line, raw in json_rows(part, tally):
        value = raw.get(number)
        yield line, raw | {number: "" if value is None else str(value)}


def _made(
    part: SetFile, key: str, sides: Mapping[str, tuple[int, Mapping[str, Any]]], tally: Tally
) -> Iterator[Raw]:
    line = min(line for line, _ in sides.values())
    row = ImportRow(line, part.name)
    situation = text_of(row, sides["to_do"][1], "dilemma_situation")
    texts = [text_of(row, sides[name][1], "action") for name in _ACTIONS]
    if not is_usable(_QUESTION, situation, texts, tally):
        return
    unknown = {"kind": "unknown", "name": None}
    yield (
        part.name,
        line,
        pair(
            key=f"dilemma-{for_id(key)}"[:120],
            first={"text": texts[0], "generated_by": unknown},
            second={"text": texts[1], "generated_by": unknown},
            label=None,
            task="survey_answer",
            question=_QUESTION,
            context=situation,
            context_title="The situation",
            topic=str(sides["to_do"][1].get("topic_group") or "")[:120],
            language="en",
            metadata={name: _values(sides[name][1]) for name in _ACTIONS},
        ),
    )


def _values(raw: Mapping[str, Any]) -> list[str]:
    """The values that an action supports, from the file's list literals.

    Either the names under which the release counts them, or what was written of those affected.
    """
    values: list[str] = []
    counted = [name for name in ("values_aggregated", "values_names") if raw.get(name)]
    for name in counted[:1] or ("values_direct", "values_indirect"):
        cell = raw.get(name) or "[]"
        listed = cell if isinstance(cell, list) else literal(str(cell))
        values += [str(value)[:100] for value in listed] if isinstance(listed, list) else []
    return list(dict.fromkeys(values))[:50]


DAILY_DILEMMAS = DataSet(
    name="daily_dilemmas",
    title="DailyDilemmas",
    about="1,360 everyday situations with two ways to act. It has no human answers.",
    task="survey_answer",
    files="dilemma_to_action_to_values_aggregated.csv",
    source={
        "name": "DailyDilemmas",
        "url": "https://huggingface.co/datasets/kellycyy/daily_dilemmas",
        "licence": "CC-BY-4.0",
        "licence_url": "https://creativecommons.org/licenses/by/4.0/",
        "citation": "Chiu, Jiang and Choi 2024, DailyDilemmas",
        "redistribution": "allowed",
    },
    roles=(
        Role(
            "actions",
            ("dilemma_idx", "dilemma_situation", "action_type", "action"),
            "a row for each action (dilemma_to_action_to_values_aggregated.csv)",
            is_mark=True,
        ),
        Role(
            "details",
            ("idx", "dilemma_situation", "action_type", "action", "values_direct"),
            "a row for each action (dilemmas_with_detail_by_action.csv)",
            is_mark=True,
        ),
    ),
    options=(Option("topics", ALL, "Topic groups, named as in the file."),),
    read=_read,
)
