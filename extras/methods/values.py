"""Values that the actions of an item stand for, and how often people and judges choose their side.

Items of DailyDilemmas have the values of both actions in their metadata.
"""

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import Dataset, DesignData, ItemData
from analysis.data.extras import ExtraReader
from analysis.data.verdicts import Ints
from analysis.report.report_json import Json, cell
from analysis.report.section import ReportJson, Section
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import run_name
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.core.shared_variance import Sharing
from studies.models import Item, Study
from studies.texts.normalisation import fold

# Response 1 is to act, as the importer reads the files.
_SIDES = ("to_do", "not_to_do")
FEWEST_ITEMS = 10  # on which a value has a row of its own
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class ItemValues(DesignData):
    """The values of both responses of each item, in the order of the items; () without any."""

    sides: tuple[tuple[frozenset[str], frozenset[str]] | None, ...]

    @property
    def digest(self) -> str:
        rows = [side and [sorted(values) for values in side] for side in self.sides]
        return hashlib.sha256(repr(rows).encode()).hexdigest()

    def questions(self, items: Sequence[ItemData]) -> Sequence[Hashable] | None:
        """Every dilemma asks something else, though all have the same words after them."""
        return [
            item.question if side is None else (item.question, item.key)
            for item, side in zip(items, self.sides, strict=True)
        ]

    def on_one_side(self) -> dict[str, tuple[Ints, Ints]]:
        """The items where a value belongs to one response only, and which; most items first."""
        places: dict[str, list[tuple[int, int]]] = {}
        for place, side in enumerate(self.sides):
            if side is not None:
                for response, own, other in ((0, *side), (1, *side[::-1])):
                    for value in own - other:
                        places.setdefault(value, []).append((place, response))
        ordered = sorted(places.items(), key=lambda entry: (-len(entry[1]), entry[0]))
        return {
            value: (np.array([place for place, _ in rows]), np.array([side for _, side in rows]))
            for value, rows in ordered
        }


def _values(names: object) -> frozenset[str]:
    listed = names if isinstance(names, list) else []
    return frozenset(word for name in listed if (word := fold(str(name)).strip()))


def item_values_of(study: Study, data: Dataset, position: Mapping[int, int]) -> ItemValues | None:
    """The values of a study's items; None if no item has some on both sides."""
    rows = Item.objects.filter(study=study, metadata__has_keys=_SIDES).values_list("pk", "metadata")
    sides: list[tuple[frozenset[str], frozenset[str]] | None] = [None] * len(position)
    for item, metadata in rows.iterator():
        own = tuple(_values(metadata[side]) for side in _SIDES)
        if item in position and own[0] | own[1]:
            sides[position[item]] = (own[0], own[1])
    return ItemValues(tuple(sides)) if any(sides) else None


ITEM_VALUES = ExtraReader("item values", item_values_of)


def _chosen(
    rows: Mapping[str, tuple[Ints, Ints]],
    n_items: int,
    item: Ints,
    choice: Ints,
    sharing: Sharing,
) -> list[Json]:
    """For each value, how often its side was chosen; all intervals hold together.

    Values share dilemmas, so their shares are dependent. A level for each that is divided by their
    number holds for all of them whatever they share.
    """
    level = 1 - (1 - LEVEL) / max(len(rows), 1)
    entries = []
    for items, side in rows.values():
        of_item = np.full(n_items, -1)
        of_item[items] = side
        decided = np.flatnonzero((of_item[item] >= 0) & ((choice == 0) | (choice == 1)))
        share = general_proportion(
            choice[decided] == of_item[item[decided]], sharing.take(decided), level=level
        )
        entries.append(cell(share, "value", "chosen_n"))
    return entries


def _rows(report: ReportJson) -> Iterator[tuple[str, Json]]:
    values = report["item_values"]
    sides: Iterable[tuple[str, Sequence[Json]]] = [
        ("People", values["people"]),
        *((run_name(run, report["judges"]), run["chosen"]) for run in values["judges"]),
    ]
    for place, row in enumerate(values["rows"]):
        for who, entries in sides:
            if entries[place]["n"]:
                yield row["name"], row | {"who": who} | entries[place]


def values_table(report: ReportJson) -> Table:
    return table_of_entries(
        "item_values",
        "How often the side of a value was chosen",
        list(_rows(report)),
        [
            ("Dilemmas", "count", "items"),
            ("To act", "percent", "acts"),
            ("Who", "text", "who"),
            ("Answers", "count", "n", "Side of the value"),
            ("chosen", "percent", "value", "Side of the value"),
            ("Interval", "percent_range", "ci", "Side of the value"),
        ],
        "Dilemmas in which the value belongs to one of the two actions only; in that share of them "
        "it is to act, which is what somebody gets who always acts. Single answers of people, one "
        "of a judge for each item, without ties. The intervals of one row of people or of one "
        "judge hold for all values together at 95 %, whatever dilemmas the values share, and for "
        "items and people like these.",
        first="Value",
    )


class ValuesSection(Section):
    """How often people and judges choose the action that stands for a value."""

    name = "item_values"
    title = "Values"
    inside = "Values that the chosen actions stand for"
    keys = """
item_values | object | Values of the actions of dilemmas, and who chose the side of each.
item_values.items | count | Items with values.
item_values.names | count | Different values that belong to one action only in some item.
rows.name | text | Name of the value.
rows.items | count | Items in which the value belongs to one action only.
acts | share | Share of these items in which that action is to act.
item_values.people | list | For each row of a value, how often people chose its side.
chosen | list | For each row of a value, how often the judge chose its side.
chosen_n | count | Answers that chose the side of the value.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "item_values" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty without values of items."""
        stored = study.data.of(ItemValues)
        if stored is None:
            return {}
        of_value = stored.on_one_side()
        rows = {value: row for value, row in of_value.items() if row[0].size >= FEWEST_ITEMS}
        answers, shared = study.data.answers, study.shared
        n = len(stored.sides)
        judges = [
            identity(run) | {"chosen": _chosen(rows, n, np.arange(n), judge.answer, shared.judged)}
            for run, judge in zip(study.data.runs, study.judges, strict=True)
        ]
        return {
            "item_values": {
                "items": sum(side is not None for side in stored.sides),
                "names": len(of_value),
                "rows": [
                    {"name": value, "items": int(items.size), "acts": float((side == 0).mean())}
                    for value, (items, side) in rows.items()
                ],
                "people": _chosen(
                    rows, n, answers.item, answers.choice.astype(np.int64), shared.answers
                ),
                "judges": judges,
            }
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if self.is_needed(report) and report["item_values"]["rows"]:
            yield values_table(report)


CHAPTER = ValuesSection()
