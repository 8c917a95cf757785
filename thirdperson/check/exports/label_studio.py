"""Label Studio: tasks exported as JSON.

Annotations are of people, predictions of judges; an annotation marked as ground truth is the right
label. Choices, ratings, numbers and pairwise selections are read.
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


def _matches(document: Any) -> bool:
    tasks = objects(document)
    return bool(tasks) and all("data" in task and "annotations" in task for task in tasks)


def _table(document: Any, name: str, metric: str) -> ExportedColumns:
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
    """The name and the value of each part of an annotation or a prediction."""
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


READER = ExportReader(_matches, _table)
