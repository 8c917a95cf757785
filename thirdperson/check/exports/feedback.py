"""Exports of programs that trace and evaluate models, as a table of shapes.

Langfuse: scores, as its API lists them or its page exports them. Phoenix: annotations of spans, or
runs of an experiment. LangSmith: feedback, as its client lists it. Opik: traces or spans with their
feedback scores. Braintrust: human review spans, one for each reviewer, below the rows that they
review. Each entry names its item, its metric and who gave it; a metric of people can have another
name than that of judges (--metric PEOPLE=JUDGE).

DeepEval: a test run; a metric that passes or fails is a judge. lm-evaluation-harness: samples as
JSON Lines; the model's answer is the judge's label, the target the right one. Braintrust without
review spans, the tables of an experiment of LangSmith (`to_pandas`) and of Opik: rows with a column
for each score, which is a judge, or a person's if its name says so. Labels of people can be in the
metadata (DeepEval, Braintrust) or the document (lm-evaluation-harness).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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
    """The value at a path such as result.label, which can be a column; None without one."""
    if path in record:
        return record[path]
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


@dataclass(frozen=True)
class FeedbackShape:
    """Where an entry has its parts: paths, of which the first with a value counts.

    `needs` are keys of every entry; `item` are all parts of an item's name. `people` are the kinds
    that are people's. With `inside`, a record is an item with its entries.
    """

    needs: tuple[str, ...]
    item: tuple[str, ...]
    metric: str
    value: tuple[str, ...]
    rater: tuple[str, ...]
    kind: str
    people: frozenset[str]
    inside: Callable[[dict[str, Any]], Iterable[dict[str, Any]]] | None = None

    def entries(self, document: Any) -> Iterator[dict[str, Any]]:
        for record in _records(document):
            for entry in self.inside(record) if self.inside else [record]:
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


def _flat_annotations(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The annotations of a run of Phoenix, from its list or from columns for each."""
    yield from objects(run.get("annotations"))
    for column in run:
        if match := re.fullmatch(r"annotation_(.+)_annotator_kind", column):
            parts = {part: run.get(f"annotation_{match[1]}_{part}") for part in ("label", "score")}
            yield {"name": match[1], "annotator_kind": run[column], **parts}


_LANGFUSE = FeedbackShape(
    needs=("traceId", "name", "source", "dataType"),
    item=("traceId", "observationId"),
    metric="name",
    value=("stringValue", "value"),
    rater=("authorUserId", "authorUserName", "metadata.model"),
    kind="source",
    people=frozenset({"annotation"}),
)
_LANGFUSE_STORED = replace(
    _LANGFUSE,
    needs=("trace_id", "name", "source", "data_type"),
    item=("trace_id", "observation_id"),
    value=("string_value", "value"),
    rater=("author_user_id", "metadata.model"),
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
_PHOENIX_FRAME = replace(
    _PHOENIX, needs=("span_id", "annotation_name", "annotator_kind"), metric="annotation_name"
)
_PHOENIX_RUNS = replace(
    _PHOENIX,
    needs=("name", "annotator_kind"),
    item=("record.example_id", "record.repetition_number"),
    inside=_flat_annotations,
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
_LANGSMITH_FRAME = replace(_LANGSMITH, needs=("run_id", "key", "feedback_source.type"))
_OPIK = FeedbackShape(
    needs=("name", "value", "source"),
    item=("record.id",),
    metric="name",
    value=("category_name", "value"),
    rater=("created_by",),
    kind="source",
    people=frozenset({"ui"}),
    inside=lambda trace: objects(trace.get("feedback_scores")),
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
        rows = records(document)
        return bool(rows) and all(map(matches, rows))

    def table(document: Any, name: str, metric: str) -> ExportedColumns:
        rows: list[ExportedRow] = []
        judges: dict[str, None] = {}
        people: dict[str, None] = {}
        for number, record in enumerate(records(document), start=1):
            row, own, score = row_of(record, metric)
            row.setdefault("item", str(number))
            judges |= dict.fromkeys(own)
            people |= dict.fromkeys(score)
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
    for metric_data in objects(case.get("metricsData")):
        name = str(metric_data.get("name"))
        if metric in ("", name) and metric_data.get("success") is not None:
            column = f"metric {name}"
            row[column] = "pass" if metric_data["success"] else "fail"
            judges.append(column)
    return row, judges, []


def _is_sample(record: dict[str, Any]) -> bool:
    return {"doc_id", "target"} <= record.keys() and bool({"resps", "filtered_resps"} & {*record})


def _sample_row(sample: dict[str, Any], metric: str) -> CaseRow:
    doc = sample["doc"] if isinstance(sample.get("doc"), dict) else {}
    row = plain_fields(doc)
    row["item"] = str(sample["doc_id"])
    responses, target = sample.get("filtered_resps") or sample.get("resps"), sample["target"]
    answer = _chosen(responses)
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


def _chosen(responses: Any) -> Any:
    """The answer in a list; of log-likelihoods with a mark, the place of the largest."""
    while isinstance(responses, list) and len(responses) == 1:
        [responses] = responses
    if (
        isinstance(responses, list)
        and responses
        and all(isinstance(x, list) and x for x in responses)
    ):
        pairs = [x[0] if isinstance(x[0], list) else x for x in responses]
        likely = [float(pair[0]) for pair in pairs]
        return likely.index(max(likely))
    return responses[0] if isinstance(responses, list) and responses else responses


_PERSON = re.compile(r"(?i:human|person|people|expert|review|annotat)")
_SCORES = re.compile(r"(?:(?:feedback_)?scores|feedback)\.(.+?)(_reason)?")


_INPUTS = re.compile(r"(?:dataset|inputs|metadata)\.")


def _scores(record: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of a row by their names, from an object or from columns."""
    scores = record.get("scores")
    if isinstance(scores, dict):
        return scores
    columns = {name: match for name in record if (match := _SCORES.fullmatch(name))}
    return {
        match[1]: record[name]
        for name, match in columns.items()
        if not match[2] and record[name] != "-"
    }


def _rows_with_scores(document: Any) -> list[dict[str, Any]]:
    """Rows of an experiment; inner steps of a trace have no scores."""
    return [record for record in _records(document) if _scores(record)]


def _scored_row(record: dict[str, Any], metric: str) -> CaseRow:
    row = plain_fields(record.get("metadata"))
    row |= {_INPUTS.sub("", name): text(v) for name, v in record.items() if "." in name}
    if asked := record.get("input") or record.get("dataset.input"):
        row |= {"question": text(asked)}
    if record.get("id"):
        row["item"] = str(record["id"])
    judges, people = [], []
    for name, value in _scores(record).items():
        column = f"score {name}"
        row[column] = text(value)
        if _PERSON.search(name):
            people.append(column)
        elif metric in ("", name):
            judges.append(column)
    return row, judges, people


def _is_review(record: Mapping[str, Any]) -> bool:
    return _at(record, "span_attributes.type") == "review"


def _has_reviews(document: Any) -> bool:
    rows = _rows_with_scores(document)
    return any(map(_is_review, rows)) and not all(map(_is_review, rows))


def _review_table(document: Any, name: str, metric: str) -> ExportedColumns:
    """Rows of Braintrust with human review spans: a reviewer's scores of the row above.

    The row itself has the mean of its reviewers under the same name, which is left out.
    """
    marks = []
    fields: dict[str, dict[str, Any]] = {}
    rows = _rows_with_scores(document)
    of_people = {score for row in rows if _is_review(row) for score in _scores(row)}
    for number, row in enumerate(rows, start=1):
        is_judge = not _is_review(row)
        parents = row.get("span_parents") or [row.get("root_span_id")]
        item = str(row.get("span_id") if is_judge else parents[0])
        if is_judge:
            fields[item] = {**(row.get("metadata") or {}), "question": row.get("input")}
        for score, value in _scores(row).items():
            rater = score if is_judge else first_of(_at(row, "span_attributes.name"), "person")
            if value is not None and not (is_judge and score in of_people):
                where = f"{name}, record {number}"
                marks.append(ReaderMark(where, item, rater, is_judge, score, value))
    return table_of_marks(marks, fields, name, metric)


def _any_of(*shapes: FeedbackShape | ExportReader) -> ExportReader:
    """One program with several kinds of files."""

    def table(document: Any, name: str, metric: str) -> ExportedColumns:
        fitting = next(shape for shape in shapes if shape.matches(document))
        return fitting.table(document, name, metric)

    return ExportReader(lambda document: any(shape.matches(document) for shape in shapes), table)


DEEPEVAL = _wide(
    lambda case: "metricsData" in case,
    _test_cases,
    _deepeval_row,
    "Evaluate it with a metric first, or name one with --metric.",
)
LM_EVAL = _wide(_is_sample, objects, _sample_row, "Name a filter of its answers with --metric.")
LANGFUSE = _any_of(_LANGFUSE, _LANGFUSE_STORED)
PHOENIX = _any_of(_PHOENIX, _PHOENIX_FRAME, _PHOENIX_RUNS)
_NO_SCORE = "Score it first, or name a score with --metric."
LANGSMITH = _any_of(
    _LANGSMITH,
    _LANGSMITH_FRAME,
    _wide(
        lambda row: "execution_time" in row and any(name.startswith("feedback.") for name in row),
        _rows_with_scores,
        _scored_row,
        _NO_SCORE,
    ),
)
OPIK = _any_of(
    _OPIK,
    _wide(
        lambda row: any(name.startswith("feedback_scores.") for name in row),
        _rows_with_scores,
        _scored_row,
        _NO_SCORE,
    ),
)
BRAINTRUST = _any_of(
    ExportReader(_has_reviews, _review_table),
    _wide(
        lambda row: bool({"span_id", "input"} & {*row}), _rows_with_scores, _scored_row, _NO_SCORE
    ),
)
