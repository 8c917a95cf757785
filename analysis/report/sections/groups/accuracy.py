"""Who and what is hard: accuracy by topic and by what the personas are like."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import MISSING, Dataset
from analysis.data.verdicts import Ints, Verdicts
from analysis.report.clusters import Shared
from analysis.report.encode import Json, cell, number, put, put_interval
from analysis.stats.core.groups import GroupComparison, compare_groups
from analysis.stats.core.multiway import multiway_proportion
from analysis.stats.core.proportions import EMPTY
from analysis.stats.core.results import Proportion
from analysis.stats.core.votes import Votes

# A feature with more values than this (a name, a year of birth) sorts people into groups of one.
MAX_VALUES = 30
# A feature that fewer of the items' personas have says who was asked, not who is hard.
MIN_SHARE = 0.8
# The fewest annotators that a group may have.
MIN_PEOPLE = 5


def group_tables(
    data: Dataset, people: Verdicts, judges: Sequence[Verdicts], shared: Shared, *, threshold: float
) -> tuple[list[Json], list[list[int]]]:
    """Accuracy of the majority and of every run, by topic and by each persona feature.

    Intervals allow for personas and questions in common. Pairs of groups with at least 30 items
    each are compared, adjusted by Holm over the pairs of one side and one table. Beside the tables
    stands each item's row in every one of them.
    """
    tables, rows = [], []
    topics = [item.topic for item in data.items]
    if any(topics):
        table, codes = _table("topic", "Topic", topics, people, judges, shared)
        _add_high_and_low(table, topics, people, judges, shared, threshold)
        tables.append(table)
        rows.append(codes)
    labels = dict.fromkeys(label for pairs in data.personas.values() for label, _ in pairs)
    for label in labels:
        value_of = {key: dict(pairs).get(label, "") for key, pairs in data.personas.items()}
        values = [value_of[item.persona] for item in data.items]
        said = sum(map(bool, values))
        if 1 < len(set(values)) <= MAX_VALUES and said >= MIN_SHARE * len(values):
            table, codes = _table("feature", label, values, people, judges, shared)
            tables.append(table)
            rows.append(codes)
    return tables, [list(row) for row in zip(*rows, strict=True)] or [[] for _ in data.items]


def annotator_groups(data: Dataset, votes: Votes, alone: Ints, shared: Shared) -> list[Json]:
    """Accuracy of single answers by what annotators say of themselves.

    Groups of fewer than five people are left out and counted, so that nobody can be made out.
    """
    labels = dict.fromkeys(key for group in data.rater_groups for key in group)
    tables = []
    for label in labels:
        told = [group.get(label, "") for group in data.rater_groups]
        people = Counter(told)
        names = sorted(value for value, n in people.items() if n >= MIN_PEOPLE)
        if not 1 < len(names) <= MAX_VALUES:
            continue
        code_of = {value: code for code, value in enumerate(names)}
        codes = np.array([code_of.get(value, MISSING) for value in told], dtype=np.int64)
        clusters = shared.of_items(votes.item) | {"annotator": votes.annotator}
        side = compare_groups(alone, codes[votes.annotator], clusters=clusters)
        rows = [
            {"value": value, "people": people[value], "answers": _cell(side, code)}
            for code, value in enumerate(names)
        ]
        table: Json = {"label": label, "rows": rows, "differences": _differences(side, names)}
        tables.append(table | {"left_out": int((codes == MISSING).sum())})
    return tables


def _table(
    kind: str,
    label: str,
    values: Sequence[str],
    people: Verdicts,
    judges: Sequence[Verdicts],
    shared: Shared,
) -> tuple[Json, list[int]]:
    names = sorted(set(values))
    code_of = {value: code for code, value in enumerate(names)}
    codes = np.array([code_of[value] for value in values], dtype=np.int64)
    items = np.arange(codes.size)
    sides = [
        compare_groups(
            side.correct, codes, clusters=shared.of_items(items, by_people=side is people)
        )
        for side in (people, *judges)
    ]
    sizes = np.bincount(codes)
    personas = [np.unique(shared.persona[codes == code]).size for code in range(len(names))]
    table = {
        "by": kind,
        "label": label,
        "rows": [
            {
                "value": value,
                "items": int(sizes[code]),
                "personas": int(personas[code]),
                "people": _cell(sides[0], code),
                "judges": [_cell(side, code) for side in sides[1:]],
            }
            for code, value in enumerate(names)
        ],
        "differences": {
            "people": _differences(sides[0], names),
            "judges": [_differences(side, names) for side in sides[1:]],
        },
    }
    return table, codes.tolist()


def _cell(side: GroupComparison, code: int) -> Json:
    return cell(side.cells.get(code, EMPTY)) | {"support": side.support.get(code, "nothing")}


def _differences(side: GroupComparison, names: Sequence[str]) -> list[Json]:
    out = []
    for pair in side.differences:
        found = pair.difference
        entry: Json = {"first": names[pair.first], "second": names[pair.second]}
        put(entry, "difference", number(found.value), found.reason)
        put_interval(entry, "ci", found.interval, found.interval_reason or found.reason)
        put(entry, "p", number(pair.p), found.interval_reason or "no_variation")
        put(entry, "p_holm", number(pair.p_adjusted), found.interval_reason or "no_variation")
        out.append(entry)
    return out


def _add_high_and_low(
    table: Json,
    values: Sequence[str],
    people: Verdicts,
    judges: Sequence[Verdicts],
    shared: Shared,
    threshold: float,
) -> None:
    """Split each cell of the table by the side's own certainty."""
    members = members_of(values)
    for row in table["rows"]:
        items = members[row["value"]]
        for cells, side in zip((row["people"], *row["judges"]), (people, *judges), strict=True):
            high, low = by_certainty(side, items, shared, threshold, by_people=side is people)
            cells |= {"high": cell(high), "low": cell(low)}


def members_of(values: Sequence[str]) -> dict[str, Ints]:
    """Positions of the items that have each value."""
    members: dict[str, list[int]] = defaultdict(list)
    for index, value in enumerate(values):
        members[value].append(index)
    return {value: np.array(items, dtype=np.int64) for value, items in members.items()}


def by_certainty(
    side: Verdicts, items: Ints, shared: Shared, threshold: float, *, by_people: bool
) -> tuple[Proportion, Proportion]:
    """A side's accuracy on some items, where its own certainty is high and where it is low."""
    scored = items[side.correct[items] >= 0]
    certainty = side.certainty[scored]

    def share(rows: npt.NDArray[np.bool_]) -> Proportion:
        chosen = scored[rows]
        clusters = shared.of_items(chosen, by_people=by_people)
        return multiway_proportion(side.correct[chosen] == 1, clusters).proportion

    return share(certainty >= threshold), share(certainty < threshold)
