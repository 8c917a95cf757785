"""Exports of programs that trace and evaluate models, as a table of shapes.

Langfuse: scores, as its API lists them. Phoenix: annotations of spans. LangSmith: feedback, as its
client lists it. Opik: traces or spans with their feedback scores. Each entry names its item, its
metric and who gave it; a metric of people can have another name than that of judges (--metric
PEOPLE=JUDGE).

DeepEval: a test run; a metric that passes or fails is a judge. lm-evaluation-harness: samples as
JSON Lines; the model's answer is the judge's label, the target the right one. Braintrust: rows of
an experiment; each score is a judge, or a person's if its name says so. Labels of people can be in
the metadata (DeepEval, Braintrust) or the document (lm-evaluation-harness).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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

_LISTS = ("data", "scores", "traces", "content", "events", "results", "runs")


def _records(document: Any) -> list[dict[str, Any]]:
    """The objects of a document: of its list, or of the list in its only object."""
    if isinstance(document, list) and len(document) == 1:
        [document] = document
    if isinstance(document, dict):
        lists = (document[name] for name in _LISTS if isinstance(document.get(name), list))
        document = next(lists, [document])
    return objects(document)


def _at(record: Mapping[str, Any], path: str) -> Any:
    """The value at a path such as result.label; None without one."""
    found: Any = record
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


@dataclass(frozen=True)
class FeedbackShape:
    """Where an entry has its parts: paths, of which the first with a value counts.

    `needs` are keys of every entry; `item` are all parts of an item's name. `people` are the kinds
    that are people's. With `inside`, a record is an item with its list of entries there.
    """

    needs: tuple[str, ...]
    item: tuple[str, ...]
    metric: str
    value: tuple[str, ...]
    rater: tuple[str, ...]
    kind: str
    people: frozenset[str]
    inside: str = ""

    def entries(self, document: Any) -> Iterator[dict[str, Any]]:
        for record in _records(document):
            for entry in objects(record.get(self.inside)) if self.inside else [record]:
                yield from _by_author({"record": record} | entry)

    def matches(self, document: Any) -> bool:
        first = next(iter(self.entries(document)), None)
        return first is not None and all(name in first for name in self.needs)

    def table(self, document: Any, name: str, metric: str) -> ExportedColumns:
        marks = []
        fields: dict[str, dict[str, Any]] = {}
        for number, entry in enumerate(self.entries(document), start=1):
            values = [value for path in self.value if (value := _at(entry, path)) is not None]
            item = " ".join(str(part) for path in self.item if (part := _at(entry, path)))
            if not values or not item:
                continue
            kind = str(_at(entry, self.kind) or "")
            rater = first_of(*(_at(entry, path) for path in self.rater), kind.lower(), "unknown")
            is_judge = kind.lower() not in self.people
            where = f"{name}, entry {number}"
            label = str(_at(entry, self.metric))
            marks.append(ReaderMark(where, item, rater, is_judge, label, values[0]))
            fields[item] = entry["record"] if self.inside else entry.get("metadata") or {}
        return table_of_marks(marks, fields, name, metric)


def _by_author(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An entry of Opik once for each of its authors; another entry as it is."""
    authors = entry.get("value_by_author")
    if not isinstance(authors, dict) or not authors:
        yield entry
        return
    for author, own in authors.items():
        yield entry | (own if isinstance(own, dict) else {"value": own}) | {"created_by": author}


_LANGFUSE = FeedbackShape(
    needs=("traceId", "name", "source", "dataType"),
    item=("traceId", "observationId"),
    metric="name",
    value=("stringValue", "value"),
    rater=("authorUserId", "metadata.model"),
    kind="source",
    people=frozenset({"annotation"}),
)
_PHOENIX = FeedbackShape(
    needs=("span_id", "name", "annotator_kind"),
    item=("span_id",),
    metric="name",
    value=("result.label", "result.score", "label", "score"),
    rater=("user_id", "identifier", "metadata.reviewer", "metadata.model"),
    kind="annotator_kind",
    people=frozenset({"human"}),
)
_LANGSMITH = FeedbackShape(
    needs=("run_id", "key", "feedback_source"),
    item=("run_id",),
    metric="key",
    value=("value", "score"),
    rater=("feedback_source.user_id", "feedback_source.user_name"),
    kind="feedback_source.type",
    # The API is for feedback of an own interface; judges have their own kinds.
    people=frozenset({"app", "api"}),
)
_OPIK = FeedbackShape(
    needs=("name", "value", "source"),
    item=("record.id",),
    metric="name",
    value=("category_name", "value"),
    rater=("created_by",),
    kind="source",
    people=frozenset({"ui"}),
    inside="feedback_scores",
)


# A record as a row, the columns of judges among its cells, and those of people.
CaseRow = tuple[dict[str, str], list[str], list[str]]


def _wide(
    matches: Callable[[dict[str, Any]], bool],
    records: Callable[[Any], list[dict[str, Any]]],
    row_of: Callable[[dict[str, Any], str], CaseRow],
    advice: str,
) -> ExportReader:
    """The reader of a program that writes one record for each item."""

    def is_export(document: Any) -> bool:
        found = records(document)
        return bool(found) and all(map(matches, found))

    def table(document: Any, name: str, metric: str) -> ExportedColumns:
        rows: list[ExportedRow] = []
        judges: dict[str, None] = {}
        people: dict[str, None] = {}
        for number, record in enumerate(records(document), start=1):
            row, own, given = row_of(record, metric)
            row.setdefault("item", str(number))
            judges |= dict.fromkeys(own)
            people |= dict.fromkeys(given)
            rows.append((f"{name}, record {number}", row))
        if not judges:
            raise BadTable(f"{name} has no {f'“{metric}”' if metric else 'labels'}. {advice}")
        return ExportedColumns(
            rows, Columns(item="item", people=tuple(people), judges=tuple(judges))
        )

    return ExportReader(is_export, table)


def _test_cases(document: Any) -> list[dict[str, Any]]:
    if not isinstance(document, dict):
        return []
    return objects(document.get("testCases")) or objects(document.get("conversationalTestCases"))


def _deepeval_row(case: dict[str, Any], metric: str) -> CaseRow:
    row = plain_fields(case.get("metadata")) | plain_fields(case.get("additionalMetadata"))
    row["question"] = text(case.get("input"))
    judges = []
    for found in objects(case.get("metricsData")):
        name = str(found.get("name"))
        if metric in ("", name) and found.get("success") is not None:
            column = f"metric {name}"
            row[column] = "pass" if found["success"] else "fail"
            judges.append(column)
    return row, judges, []


def _is_sample(record: dict[str, Any]) -> bool:
    return {"doc_id", "target"} <= record.keys() and bool({"resps", "filtered_resps"} & {*record})


def _sample_row(sample: dict[str, Any], metric: str) -> CaseRow:
    doc = sample["doc"] if isinstance(sample.get("doc"), dict) else {}
    row = plain_fields(doc)
    row["item"] = str(sample["doc_id"])
    given, target = sample.get("filtered_resps") or sample.get("resps"), sample["target"]
    answer = _chosen(given)
    choices = doc.get("choices")
    if isinstance(answer, int) and isinstance(choices, list) and target in choices:
        target = choices.index(target)
    row["target"] = text(target)
    # A sample is listed once for each filter of its answer, which is then a judge of its own.
    name = str(sample.get("filter") or "none")
    column = "model" if name == "none" else f"model, filter {name}"
    if metric in ("", name):
        row[column] = text(answer)
    return row, [column] if column in row else [], []


def _chosen(given: Any) -> Any:
    """The answer in a list; of log-likelihoods with a mark, the place of the largest."""
    while isinstance(given, list) and len(given) == 1:
        [given] = given
    if isinstance(given, list) and given and all(isinstance(x, list) and x for x in given):
        pairs = [x[0] if isinstance(x[0], list) else x for x in given]
        likely = [float(pair[0]) for pair in pairs]
        return likely.index(max(likely))
    return given[0] if isinstance(given, list) and given else given


def _is_logged(record: dict[str, Any]) -> bool:
    return isinstance(record.get("scores"), dict) and bool({"span_id", "input"} & {*record})


def _rows_with_scores(document: Any) -> list[dict[str, Any]]:
    """Rows of an experiment; inner steps of a trace have no scores."""
    return [record for record in _records(document) if record.get("scores")]


_PERSON = re.compile(r"(?i:human|person|people|expert|review|annotat)")


def _logged_row(record: dict[str, Any], metric: str) -> CaseRow:
    row = plain_fields(record.get("metadata"))
    row |= {"item": first_of(record.get("id"), "?"), "question": text(record.get("input"))}
    judges, people = [], []
    for name, value in record["scores"].items():
        column = f"score {name}"
        row[column] = text(value)
        if _PERSON.search(name):
            people.append(column)
        elif metric in ("", name):
            judges.append(column)
    return row, judges, people


DEEPEVAL = _wide(
    lambda case: "metricsData" in case,
    _test_cases,
    _deepeval_row,
    "Evaluate it with a metric first, or name one with --metric.",
)
LM_EVAL = _wide(_is_sample, objects, _sample_row, "Name a filter of its answers with --metric.")
BRAINTRUST = _wide(
    _is_logged, _rows_with_scores, _logged_row, "Score it first, or name a score with --metric."
)
LANGFUSE, PHOENIX, LANGSMITH, OPIK = (
    ExportReader(shape.matches, shape.table) for shape in (_LANGFUSE, _PHOENIX, _LANGSMITH, _OPIK)
)
