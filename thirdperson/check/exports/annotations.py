"""Exports of labelling programs: Label Studio and Argilla.

Label Studio: tasks exported as JSON. Annotations are of people, predictions of judges; an
annotation marked as ground truth is the right label. Choices, ratings, numbers and pairwise
selections are read.

Argilla: records as JSON or JSON Lines. Responses are of people, suggestions of judges. Read as the
Python client writes them (by question), as the server gives them (lists), and with the flat columns
of a data set on the Hugging Face hub.
"""

from collections.abc import Iterator
from typing import Any

from thirdperson.check.exports.reader import (
    ExportedColumns,
    ExportReader,
    ReaderMark,
    certainty_of_score,
    first_of,
    objects,
    table_of_marks,
    text,
)

_VALUES = {"choices": "choices", "rating": "rating", "number": "number", "pairwise": "selected"}


def _is_label_studio(document: Any) -> bool:
    tasks = objects(document)
    return bool(tasks) and all(
        isinstance(task.get("data"), dict) and "annotations" in task for task in tasks
    )


def _label_studio_table(document: Any, name: str, metric: str) -> ExportedColumns:
    marks: list[ReaderMark] = []
    fields: dict[str, dict[str, Any]] = {}
    gold: dict[str, str] = {}
    for number, task in enumerate(objects(document), start=1):
        data = task.get("data") or {}
        item = first_of(data.get("item_id"), task.get("id"), number)
        where = f"{name}, task {task.get('id', number)}"
        fields[item] = data
        for annotation in objects(task.get("annotations")):
            if annotation.get("was_cancelled"):
                continue
            for region, value in _regions(annotation):
                if annotation.get("ground_truth"):
                    gold[item] = text(value)
                else:
                    marks.append(
                        ReaderMark(where, item, _annotator(annotation), False, region, value)
                    )
        for prediction in objects(task.get("predictions")):
            judge = first_of(prediction.get("model_version"), "prediction")
            score = certainty_of_score(prediction.get("score"))
            for region, value in _regions(prediction):
                marks.append(ReaderMark(where, item, judge, True, region, value, score))
    return table_of_marks(marks, fields, name, metric, gold=gold)


def _regions(of: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name and value of each part of an annotation or prediction."""
    for region in objects(of.get("result")):
        key = _VALUES.get(str(region.get("type")))
        value = region.get("value")
        if key and isinstance(value, dict) and value.get(key) is not None:
            yield str(region.get("from_name") or region["type"]), value[key]


def _annotator(annotation: dict[str, Any]) -> str:
    by = annotation.get("completed_by")
    if isinstance(by, dict):
        by = by.get("email") or by.get("id")
    return first_of(annotation.get("created_username"), by, "annotator")


LABEL_STUDIO = ExportReader(_is_label_studio, _label_studio_table)


_FLAT = ".responses"


def _records(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict):
        document = document.get("records", document.get("items", [document]))
    return objects(document)


def _is_argilla(document: Any) -> bool:
    records = _records(document)
    return bool(records) and all(
        isinstance(record.get("responses"), (dict, list))
        or any(key.endswith(_FLAT) for key in record)
        for record in records
    )


def _argilla_table(document: Any, name: str, metric: str) -> ExportedColumns:
    marks: list[ReaderMark] = []
    fields: dict[str, dict[str, Any]] = {}
    for number, record in enumerate(_records(document), start=1):
        item = first_of(record.get("external_id"), record.get("id"), number)
        where = f"{name}, record {item}"
        fields[item] = {**_part(record, "metadata"), **_part(record, "fields")}
        if not _part(record, "fields"):
            fields[item] |= {key: value for key, value in record.items() if "." not in key}
        for question, rater, value in (*_responses(record), *_flat_responses(record)):
            marks.append(ReaderMark(where, item, rater, False, question, value))
        for question, suggestion in (*_suggestions(record), *_flat_suggestions(record)):
            judge = first_of(suggestion.get("agent"), "suggestion")
            score = certainty_of_score(suggestion.get("score"))
            marks.append(
                ReaderMark(where, item, judge, True, question, suggestion.get("value"), score)
            )
    return table_of_marks(marks, fields, name, metric)


def _part(record: dict[str, Any], name: str) -> dict[str, Any]:
    cell = record.get(name)
    return cell if isinstance(cell, dict) else {}


def _responses(record: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Question, annotator and value of each submitted response."""
    responses_by_question = record.get("responses")
    if isinstance(responses_by_question, dict):
        for question, responses in responses_by_question.items():
            for response in objects(responses):
                yield question, first_of(response.get("user_id"), "user"), response.get("value")
    for response in objects(responses_by_question):
        if response.get("status", "submitted") != "submitted":
            continue
        rater = first_of(response.get("user_id"), "user")
        values = response.get("values") or {response.get("question_name"): response.get("value")}
        for question, value in values.items():
            yield str(question), rater, value


def _suggestions(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    suggestions = record.get("suggestions")
    if isinstance(suggestions, dict):
        for question, suggestion in suggestions.items():
            if isinstance(suggestion, dict):
                yield question, suggestion
    for suggestion in objects(suggestions):
        question = suggestion.get("question_name") or (suggestion.get("question") or {}).get("name")
        yield str(question), suggestion


def _flat_responses(record: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for key, values in record.items():
        if key.endswith(_FLAT) and isinstance(values, list):
            question = key.removesuffix(_FLAT)
            users = record.get(f"{key}.users") or []
            statuses = record.get(f"{key}.status") or ["submitted"] * len(values)
            for user, value, status in zip(users, values, statuses, strict=False):
                if status == "submitted":
                    yield question, str(user), value


def _flat_suggestions(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for key, value in record.items():
        if key.endswith(".suggestion") and value is not None:
            parts = {part: record.get(f"{key}.{part}") for part in ("score", "agent")}
            yield key.removesuffix(".suggestion"), {"value": value, **parts}


ARGILLA = ExportReader(_is_argilla, _argilla_table)
