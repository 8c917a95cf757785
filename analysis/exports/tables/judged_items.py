"""Items with all answers and verdicts on them, read in parts and joined by item."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from analysis.data.annotators.answers import is_counted
from analysis.data.items.aggregates import run_aggregates
from analysis.data.items.texts import ItemTexts, item_texts
from analysis.exports.tables.people import annotation_table
from studies.models.studies import Study

_CHUNK = 500


@dataclass(frozen=True)
class JudgedItem:
    """An item, the annotators' answers that the report counts, and the verdict of every run.

    Runs with a bias probe are left out: their prompts were changed.
    """

    item: ItemTexts
    answers: list[dict[str, Any]]
    verdicts: list[dict[str, Any]]


def judged_items(study: Study) -> Iterator[JudgedItem]:
    """The items that count, by key, including those without answers."""
    items = item_texts(study)
    by_item = groupby(counted_answers(study), key=itemgetter("item_id"))
    key, answers = _next(by_item)
    while chunk := list(islice(items, _CHUNK)):
        verdicts = defaultdict(list)
        for verdict in run_aggregates(study, [item.key for item in chunk]):
            if verdict["bias_probe"] is None:
                verdicts[verdict["item_id"]].append(verdict)
        for item in chunk:
            own: list[dict[str, Any]] = []
            if item.key == key:
                own = answers
                key, answers = _next(by_item)
            yield JudgedItem(item, own, verdicts[item.key])


def counted_answers(study: Study) -> Iterator[dict[str, Any]]:
    """The answers that the report counts, as export rows."""
    return filter(is_counted, annotation_table(study))


def _next(groups: Iterator[tuple[str, Iterator[Any]]]) -> tuple[str | None, list[Any]]:
    """The next key with its rows, as a list because `groupby` drops a group when it advances."""
    key, rows = next(groups, (None, iter(())))
    return key, list(rows)
