"""Exports of Prolific's Task Builder: the answers to a batch.

The report as CSV: a row for each data point and instruction, with the columns of the data set and
columns for each annotator. The responses of the API, and the files of the ZIP, in which responses
are grouped by submission or by task: every answer names its instruction, and what surrounds it
names task and participant. Labels are answers to multiple choice. All are of people; a judge is a
column of the data set or of another file.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from thirdperson.check.columns import Columns
from thirdperson.check.exports.reader import (
    ExportedColumns,
    ExportedRow,
    ExportReader,
    first_of,
    objects,
    plain_fields,
    text,
)
from thirdperson.check.labels import BadTable, listed

# How the ZIP is read: its responses and the instructions of its batch.json.
RESPONSES, BATCH = "task_builder_responses", "task_builder_batch"
FILES = ("responses-by-task.jsonl", "responses-by-submission.jsonl")
BATCH_FILE = "batch.json"

_ANSWER_COLUMN = re.compile(r"Annotator(\d+)_Response")
_OF_REPORT = re.compile(r"DataPoint_ID|Task_Group_ID|Task_Type|Question|Annotator\d+_\w+")
_CHOICE = "multiple_choice"
_PEOPLE = ("participant_id", "submission_id")
# What is about a response or those who gave it, and not about the item.
_NOT_OF_ITEM = re.compile(
    r"id|batch_id|study_id|created_at|correlation_id|schema_version|\w*answers?|responses?"
    r"|(?:participant|submission)\w*"
)
_OWN = ("item", "annotator", "label")


@dataclass(frozen=True)
class _Answer:
    """An answer of a person to an instruction about an item, whose `fields` are facts about it."""

    where: str
    item: str
    person: str
    instruction: str
    question: str
    kind: str
    values: list[Any]
    fields: Mapping[str, Any]


def _records(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict):
        lists = (document.get(name) for name in (RESPONSES, "results"))
        document = next((one for one in lists if isinstance(one, list)), [document])
    return objects(document)


def _is_report(record: Mapping[str, Any]) -> bool:
    return {"DataPoint_ID", "Question"} <= record.keys()


def _of_report(records: list[dict[str, Any]], name: str) -> Iterator[_Answer]:
    for number, row in enumerate(records, start=1):
        own = {column: value for column, value in row.items() if not _OF_REPORT.fullmatch(column)}
        question = str(row.get("Question"))
        for column, value in row.items():
            if match := _ANSWER_COLUMN.fullmatch(column):
                yield _Answer(
                    f"{name}, row {number}",
                    str(row["DataPoint_ID"]),
                    first_of(row.get(f"Annotator{match[1]}_ID"), f"annotator {match[1]}"),
                    question,
                    question,
                    str(row.get("Task_Type") or _CHOICE),
                    [value],
                    own | {"DataPoint_ID": row["DataPoint_ID"]},
                )


def _answers_in(
    value: Any, outer: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each answer at any depth, with what surrounds it; `task` are the facts about the item."""
    if isinstance(value, list):
        for part in value:
            yield from _answers_in(part, outer)
    elif isinstance(value, dict):
        here = {**outer, **{name: value[name] for name in _PEOPLE if value.get(name)}}
        if value.get("task_id"):
            facts = {k: part for k, part in value.items() if not _NOT_OF_ITEM.fullmatch(k)}
            here["task"] = {**outer.get("task", {}), **plain_fields(facts)}
        if "answer" in value and {"instruction_id", "instruction"} & value.keys():
            yield value, here
            return
        for part in value.values():
            if isinstance(part, (dict, list)):
                yield from _answers_in(part, here)


def _of_responses(records: list[dict[str, Any]], document: Any, name: str) -> Iterator[_Answer]:
    known = _instructions(document.get(BATCH)) if isinstance(document, dict) else {}
    for number, (answer, here) in enumerate(_answers_in(records, {}), start=1):
        stated = answer.get("instruction")
        about = {"description": stated} if isinstance(stated, str) else stated or {}
        instruction = first_of(answer.get("instruction_id"), about.get("id"), stated)
        about = known.get(instruction, {}) | about
        task, person = here.get("task", {}), first_of(*map(here.get, _PEOPLE), "")
        if not task or not person:
            continue
        values = answer["answer"] if isinstance(answer["answer"], list) else [answer["answer"]]
        yield _Answer(
            f"{name}, answer {number}",
            str(task["task_id"]),
            person,
            instruction,
            str(about.get("description") or instruction),
            str(answer.get("type") or about.get("type") or _CHOICE),
            [one.get("value") if isinstance(one, dict) else one for one in values],
            {path.removeprefix("metadata."): value for path, value in task.items()},
        )


def _instructions(value: Any) -> dict[str, dict[str, Any]]:
    """The instructions of a batch by their ids, at any depth of its layout."""
    if isinstance(value, list):
        return {key: one for part in value for key, one in _instructions(part).items()}
    if not isinstance(value, dict):
        return {}
    by_id = {key: one for part in value.values() for key, one in _instructions(part).items()}
    return by_id | ({str(value["id"]): value} if {"id", "type", "description"} <= {*value} else {})


def _is_prolific(document: Any) -> bool:
    records = _records(document)
    if any(map(_is_report, records)):
        return any(map(_ANSWER_COLUMN.fullmatch, (name for row in records for name in row)))
    first = next(_of_responses(list(islice(records, 3)), {}, ""), None)
    return first is not None or (isinstance(document, dict) and RESPONSES in document)


def _table(document: Any, name: str, metric: str) -> ExportedColumns:
    records = _records(document)
    is_report = any(map(_is_report, records))
    read = _of_report(records, name) if is_report else _of_responses(records, document, name)
    answers = [one for one in read if one.kind.startswith(_CHOICE)]
    asked = dict.fromkeys(answer.question for answer in answers)
    if metric:
        answers = [one for one in answers if metric in (one.question, one.instruction)]
    remedy = "Name one of these with --metric."
    if not asked:
        raise BadTable(f"{name} has no answers to an instruction with multiple choice.")
    if not answers:
        raise BadTable(f"{name} has no answers to “{metric}”. It has: {listed([*asked])}. {remedy}")
    if len({answer.question for answer in answers}) > 1:
        raise BadTable(f"{name} has answers to several questions: {listed([*asked])}. {remedy}")
    rows: list[ExportedRow] = []
    for answer in answers:
        values = [label for value in answer.values if (label := text(value))]
        if len(values) > 1:
            raise BadTable(
                f"{answer.where}: several options were chosen ({listed(values)}). Only questions "
                "with one answer can be checked: name one with --metric."
            )
        fields = plain_fields(answer.fields)
        row = {f"dataset {key}" if key in _OWN else key: value for key, value in fields.items()}
        row |= {"item": answer.item, "annotator": _pseudonym(answer.person)}
        rows.append((answer.where, row | {"label": "".join(values)}))
    return ExportedColumns(rows, Columns(item="item", annotator="annotator", label="label"))


def _pseudonym(person: str) -> str:
    """A name for a participant, the same in every file, that is not the id on Prolific."""
    return f"participant {hashlib.sha256(person.encode()).hexdigest()[:10]}"


PROLIFIC = ExportReader(_is_prolific, _table)
