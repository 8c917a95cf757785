"""Labels by rater and item, as the program of the alternative annotator test takes them.

A JSON object with one object per rater, from items to labels: `human_annotations.json` and
`llm_annotations.json`. The name of the file says whether its raters are people or models, or else
the name of each.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from thirdperson.check.column_names import guessed_column, names_judge
from thirdperson.check.exports.reader import LONG, ExportedColumns, ExportReader, text

_OF_MODELS = re.compile(r"(?:^|[^a-z])(?:llms?|models?|judges?)(?:[^a-z]|$)", re.IGNORECASE)
_OF_PEOPLE = re.compile(
    r"(?:^|[^a-z])(?:humans?|people|annotators?|experts?|workers?)(?:[^a-z]|$)", re.IGNORECASE
)
_MANY = 1_000  # items whose names are looked at


def _matches(document: Any) -> bool:
    """Whether items have names, unlike the numbered rows of a table written by columns."""
    if not isinstance(document, Mapping) or not document:
        return False
    labels = list(document.values())
    if not all(isinstance(of_rater, Mapping) and of_rater for of_rater in labels):
        return False
    if guessed_column("item", [*document]):  # a table written by columns
        return False
    items = [str(item) for of_rater in labels for item in islice(of_rater, _MANY)]
    of_many = {
        value for of_rater in labels for value in map(repr, islice(of_rater.values(), _MANY))
    }
    has_names = not all(item.isdigit() for item in items)
    is_label = all(
        isinstance(value, str | int | float | None) for one in labels for value in one.values()
    )
    # Of a table written by rows, each row has few columns with many different values.
    return has_names and is_label and len({*items}) > 2 * len(of_many)


def _table(document: Mapping[str, Any], name: str, _: str) -> ExportedColumns:
    is_named = bool(_OF_MODELS.search(name)) != bool(_OF_PEOPLE.search(name))
    rows = []
    for rater, labels in document.items():
        is_judge = bool(_OF_MODELS.search(name)) if is_named else names_judge(rater)
        for item, label in labels.items():
            row = {"item": item, "annotator": rater, "label": text(label)}
            rows.append((f"{rater}, {item}", row | {"kind": "judge" if is_judge else "human"}))
    return ExportedColumns(rows, LONG)


BY_RATER = ExportReader(_matches, _table)
