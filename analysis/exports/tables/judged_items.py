"""Items with everything that was said about them, read in parts and joined by item."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from analysis.data.dataset import COUNTED
from analysis.exports.tables.aggregates import run_verdicts
from analysis.exports.tables.people import annotation_table
from studies.models import Item, Study

_CHUNK = 500


@dataclass(frozen=True)
class JudgedItem:
    """An item, the people's answers that count in the report, and every run's verdict."""

    item: Item
    answers: list[dict[str, Any]]
    verdicts: list[dict[str, Any]]


def judged_items(study: Study) -> Iterator[JudgedItem]:
    """The items that count, by key, also those that nobody has judged."""
    items = (
        Item.objects.filter(study=study)
        .select_related("persona", "study")
        .order_by("key")
        .iterator(chunk_size=_CHUNK)
    )
    by_item = groupby(counting_answers(study), key=itemgetter("item_id"))
    key, answers = _next(by_item)
    while chunk := list(islice(items, _CHUNK)):
        verdicts = defaultdict(list)
        for verdict in run_verdicts(study, [item.key for item in chunk]):
            verdicts[verdict["item_id"]].append(verdict)
        for item in chunk:
            own: list[dict[str, Any]] = []
            if item.key == key:
                own = answers
                key, answers = _next(by_item)
            yield JudgedItem(item, own, verdicts[item.key])


def counting_answers(study: Study) -> Iterator[dict[str, Any]]:
    """The answers that the report counts, as they leave."""
    for row in annotation_table(study):
        if row["standing"] in COUNTED and not row["excluded"]:
            yield row


def _next(groups: Iterator[tuple[str, Iterator[Any]]]) -> tuple[str | None, list[Any]]:
    """The next key with its rows: a group is gone as soon as the one after it is looked at."""
    key, rows = next(groups, (None, iter(())))
    return key, list(rows)
