"""Exports of programs that evaluate models: promptfoo, Inspect and MLflow.

promptfoo: the JSON or JSON Lines file of `promptfoo eval --output`. A rating in its viewer is a
component result of type “human”; assertions that a model grades are the judges. Both pass or fail.
Labels of more people can be test variables or metadata.

Inspect: a log as JSON, or the samples of an .eval file. Each scorer is a judge. Labels of people
are metadata of the samples.

MLflow: traces as JSON (`Trace.to_dict`), in a list, in lines, or below “traces”. Feedback of the
source type HUMAN is of people, any other of judges; an expectation of the same name is the right
label.
"""

from typing import Any

from thirdperson.check.columns import Columns
from thirdperson.check.exports.reader import (
    ExportedColumns,
    ExportedRow,
    ExportReader,
    ReaderMark,
    first_of,
    objects,
    plain_fields,
    table_of_marks,
    text,
)
from thirdperson.check.labels import BadTable

_HUMAN = "human"
_MODEL_GRADED = set(
    "llm-rubric search-rubric agent-rubric model-graded-closedqa model-graded-factuality "
    "factuality g-eval answer-relevance context-faithfulness context-recall context-relevance "
    "conversation-relevance pi moderation classifier select-best max-score".split()
)


def _results(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict):
        inner = document.get("results")
        return objects(inner.get("results") if isinstance(inner, dict) else inner)
    return objects(document)


def _is_promptfoo(document: Any) -> bool:
    results = _results(document)
    return bool(results) and any("gradingResult" in result for result in results)


def _promptfoo_table(document: Any, name: str, metric: str) -> ExportedColumns:
    rows: list[ExportedRow] = []
    judges: dict[str, None] = {}
    has_human = False
    for number, result in enumerate(_results(document), start=1):
        test, prompt = result.get("testIdx", number - 1), result.get("promptIdx", 0)
        row = plain_fields((result.get("testCase") or {}).get("metadata"))
        row |= plain_fields(result.get("vars"))
        row["item"] = f"test {test}, prompt {prompt}"
        grading = result.get("gradingResult") or {}
        for component in objects(grading.get("componentResults")):
            assertion = component.get("assertion") or {}
            kind = str(assertion.get("type") or "")
            column = str(assertion.get("metric") or kind)
            outcome = "pass" if component.get("pass") else "fail"
            if kind == _HUMAN:
                row[_HUMAN], has_human = outcome, True
            elif metric in (column, kind) if metric else kind in _MODEL_GRADED:
                column = _free(f"judge {column}", row)
                row[column] = outcome
                judges[column] = None
        rows.append((f"{name}, result {number}", row))
    if not judges:
        raise BadTable(
            f"{name} has no result of {f'“{metric}”' if metric else 'a model-graded assertion'}. "
            "Name an assertion's metric or type with --metric."
        )
    people = (_HUMAN,) if has_human else ()
    return ExportedColumns(rows, Columns(item="item", people=people, judges=tuple(judges)))


def _free(column: str, row: dict[str, str]) -> str:
    """The column's name, numbered if a test has several assertions of that name."""
    number, free_name = 1, column
    while free_name in row:
        number += 1
        free_name = f"{column} {number}"
    return free_name


PROMPTFOO = ExportReader(_is_promptfoo, _promptfoo_table)


def _is_inspect(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    samples = objects(document.get("samples"))
    return bool(samples) and any("scores" in sample for sample in samples)


def _inspect_table(document: Any, name: str, metric: str) -> ExportedColumns:
    samples = objects(document.get("samples"))
    epochs = {sample.get("epoch", 1) for sample in samples}
    rows: list[ExportedRow] = []
    judges: dict[str, None] = {}
    for number, sample in enumerate(samples, start=1):
        row = plain_fields(sample.get("metadata"))
        item = str(sample.get("id", number))
        row["item"] = item if len(epochs) == 1 else f"{item}, epoch {sample.get('epoch', 1)}"
        if isinstance(sample.get("input"), str):
            row.setdefault("question", sample["input"])
        for scorer, score in (sample.get("scores") or {}).items():
            if isinstance(score, dict) and metric in ("", scorer):
                column = f"scorer {scorer}"
                row[column] = text(score.get("value"))
                judges[column] = None
        rows.append((f"{name}, sample {item}", row))
    if not judges:
        raise BadTable(
            f"{name} has no scores{f' of “{metric}”' if metric else ''}. Score it first."
        )
    return ExportedColumns(rows, Columns(item="item", judges=tuple(judges)))


INSPECT = ExportReader(_is_inspect, _inspect_table)


def _traces(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict):
        document = document.get("traces", [document])
    return objects(document)


def _assessments(trace: dict[str, Any]) -> list[dict[str, Any]]:
    info = trace.get("info")
    return objects((info if isinstance(info, dict) else trace).get("assessments"))


def _is_mlflow(document: Any) -> bool:
    return any(_assessments(trace) for trace in _traces(document))


def _mlflow_table(document: Any, name: str, metric: str) -> ExportedColumns:
    marks: list[ReaderMark] = []
    fields: dict[str, dict[str, Any]] = {}
    expected: dict[tuple[str, str], str] = {}
    for number, trace in enumerate(_traces(document), start=1):
        info = trace["info"] if isinstance(trace.get("info"), dict) else trace
        item = first_of(info.get("trace_id"), info.get("request_id"), f"trace {number}")
        fields[item] = {**(info.get("tags") or {}), "question": info.get("request_preview")}
        for assessment in _assessments(trace):
            if assessment.get("valid") is False:  # replaced by a later assessment
                continue
            metric_name = first_of(
                assessment.get("assessment_name"), assessment.get("name"), "feedback"
            )
            if assessment.get("expectation"):
                expected[item, metric_name] = text(assessment["expectation"].get("value"))
                continue
            source = assessment.get("source") or {}
            kind = str(source.get("source_type") or "")
            rater = first_of(source.get("source_id"), kind.lower(), "unknown")
            value = (assessment.get("feedback") or {}).get("value")
            where = f"{name}, trace {item}"
            marks.append(ReaderMark(where, item, rater, kind != "HUMAN", metric_name, value))
    table = table_of_marks(marks, fields, name, metric)
    chosen = metric or _chosen(marks, table)
    for _, row in table.rows:
        if right := expected.get((row["item"], chosen)):
            row["gold"] = right
    return table


def _chosen(marks: list[ReaderMark], table: ExportedColumns) -> str:
    """The metric of the table's first row."""
    first = table.rows[0][1]
    return next(
        mark.metric
        for mark in marks
        if (mark.item, mark.rater, text(mark.value))
        == (first["item"], first["annotator"], first["label"])
    )


MLFLOW = ExportReader(_is_mlflow, _mlflow_table)
