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
    part = files.need("actions")
    open_rows: dict[str, dict[str, tuple[int, Mapping[str, Any]]]] = {}
    for line, raw in _rows(part, tally):
        row = ImportRow(line, part.name)
        key = str(raw.get("dilemma_idx") or "").strip()
        if not key:
            row.fault("dilemma_idx", "value is missing", "dilemma_idx is missing.")
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


def _rows(part: SetFile, tally: Tally) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a CSV, JSON Lines or Parquet file; situation numbers are text."""
    with part.open() as stream:
        is_json = stream.read(3).removeprefix(b"\xef\xbb\xbf")[:1] == b"{"
    if not is_json:
        yield from csv_rows(part, tally)
        return
    for line, raw in json_rows(part, tally):
        number = raw.get("dilemma_idx")
        yield line, raw | {"dilemma_idx": "" if number is None else str(number)}


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
    """The values that an action supports, from the file's list literal."""
    found = raw.get("values_aggregated") or "[]"
    listed = found if isinstance(found, list) else literal(str(found))
    return [str(value)[:100] for value in listed][:50] if isinstance(listed, list) else []


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
    ),
    options=(Option("topics", ALL, "Topic groups, named as in the file."),),
    read=_read,
)
