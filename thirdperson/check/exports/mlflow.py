"""MLflow: traces as JSON (`Trace.to_dict`), in a list, in lines, or below “traces”.

Feedback of the source type HUMAN is of people, any other of judges; an expectation of the same name
is the right label.
"""

from typing import Any

from thirdperson.check.exports.reader import (
    ExportedColumns,
    ExportReader,
    ReaderMark,
    first_of,
    objects,
    table_of_marks,
    text,
)


def _traces(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict):
        document = document.get("traces", [document])
    return objects(document)


def _assessments(trace: dict[str, Any]) -> list[dict[str, Any]]:
    info = trace.get("info")
    return objects((info if isinstance(info, dict) else trace).get("assessments"))


def _matches(document: Any) -> bool:
    return any(_assessments(trace) for trace in _traces(document))


def _table(document: Any, name: str, metric: str) -> ExportedColumns:
    marks: list[ReaderMark] = []
    fields: dict[str, dict[str, Any]] = {}
    expected: dict[tuple[str, str], str] = {}
    for number, trace in enumerate(_traces(document), start=1):
        info = trace["info"] if isinstance(trace.get("info"), dict) else trace
        item = first_of(info.get("trace_id"), info.get("request_id"), f"trace {number}")
        fields[item] = {**(info.get("tags") or {}), "question": info.get("request_preview")}
        for found in _assessments(trace):
            if found.get("valid") is False:  # replaced by a later one
                continue
            metric_name = first_of(found.get("assessment_name"), found.get("name"), "feedback")
            if found.get("expectation"):
                expected[item, metric_name] = text(found["expectation"].get("value"))
                continue
            source = found.get("source") or {}
            kind = str(source.get("source_type") or "")
            rater = first_of(source.get("source_id"), kind.lower(), "unknown")
            value = (found.get("feedback") or {}).get("value")
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


READER = ExportReader(_matches, _table)
