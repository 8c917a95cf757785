"""promptfoo: the JSON or JSON Lines file of `promptfoo eval --output`.

A rating in promptfoo's viewer is a component result of type “human”; assertions that a model grades
are the judges. Both pass or fail. Labels of more people can be test variables or metadata.
"""

from typing import Any

from thirdperson.check.columns import Columns
from thirdperson.check.errors import BadTable
from thirdperson.check.exports.reader import (
    ExportedColumns,
    ExportReader,
    Row,
    objects,
    plain_fields,
)

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


def _matches(document: Any) -> bool:
    found = _results(document)
    return bool(found) and any("gradingResult" in result for result in found)


def _table(document: Any, name: str, metric: str) -> ExportedColumns:
    rows: list[Row] = []
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
    """The column's name, with a number if a test has several assertions of that name."""
    number, found = 1, column
    while found in row:
        number += 1
        found = f"{column} {number}"
    return found


READER = ExportReader(_matches, _table)
