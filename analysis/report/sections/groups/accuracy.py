"""Accuracy by topic and by features of the personas."""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from analysis.report.report_json import Json, cell, estimate, put
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.study import ReportedStudy, by_certainty, members_of, put_holm
from analysis.report.tables import CONDITIONAL, Table, TableColumn
from analysis.report.words import run_names, whole_runs
from analysis.stats.core.groups import GroupComparison, compare_groups
from analysis.stats.core.proportions import EMPTY
from analysis.stats.core.results import n_distinct

# The analysis that lists the tables of groups.
FAMILY = "groups"


def group_cell(side: GroupComparison, code: int) -> Json:
    return cell(side.cells.get(code, EMPTY)) | {"support": side.support.get(code, "nothing")}


def differences(side: GroupComparison, names: Sequence[str]) -> list[Json]:
    out = []
    for pair in side.differences:
        difference = pair.difference
        entry: Json = {"first": names[pair.first], "second": names[pair.second]}
        entry |= estimate(difference, "difference")
        put(entry, "p", pair.p, difference.interval_reason or "no_variation")
        out.append(entry)
    return out


DIFFERENCE = (
    TableColumn("Difference", "points"),
    TableColumn("95 % interval", "points_range"),
    TableColumn("p", "p"),
    TableColumn("Holm p", "p"),
)


# Features with more values than this (a name, a year of birth) give groups of one persona.
MAX_VALUES = 30


# Features of fewer personas describe who was asked, not who is hard to judge.
MIN_SHARE = 0.8


def group_tables(study: ReportedStudy) -> tuple[list[Json], list[list[int]]]:
    """Accuracy of the majority and every run, by topic and by persona feature.

    Intervals allow for shared personas and questions. Pairs of groups with at least 30 items each
    are compared, with Holm's adjustment over the pairs of all sides and tables. The second list has
    each item's row in every table.
    """
    data, tables, rows = study.data, list[Json](), []
    topics = [item.topic for item in data.items]
    if any(topics):
        table, codes = _table("topic", "Topic", topics, study)
        _add_high_and_low(table, topics, study)
        tables.append(table)
        rows.append(codes)
    for label, values in data.features:
        n_known = sum(map(bool, values))
        if 1 < len(set(values)) <= MAX_VALUES and n_known >= MIN_SHARE * len(values):
            table, codes = _table("feature", label, values, study)
            tables.append(table)
            rows.append(codes)
    _adjust(tables)
    # Few different rows occur, so equal ones share one list.
    return tables, list(map(cache(list), zip(*rows, strict=True))) or [[]] * len(data.items)


def _adjust(tables: Sequence[Json]) -> None:
    """Add Holm's p over all pairs, because a reader looks for a small one in all tables."""
    put_holm(
        [
            pair
            for table in tables
            for side in (table["differences"]["people"], *table["differences"]["judges"])
            for pair in side
        ]
    )


def _table(
    kind: str, label: str, values: Sequence[str], study: ReportedStudy
) -> tuple[Json, list[int]]:
    people, judges, shared = study.people, study.judges, study.shared
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
    personas = [n_distinct(shared.persona[codes == code]) for code in range(len(names))]
    table = {
        "by": kind,
        "label": label,
        "rows": [
            {
                "value": value,
                "items": int(sizes[code]),
                "personas": int(personas[code]),
                "people": group_cell(sides[0], code),
                "judges": [group_cell(side, code) for side in sides[1:]],
            }
            for code, value in enumerate(names)
        ],
        "differences": {
            "people": differences(sides[0], names),
            "judges": [differences(side, names) for side in sides[1:]],
        },
    }
    return table, codes.tolist()


def _add_high_and_low(table: Json, values: Sequence[str], study: ReportedStudy) -> None:
    """Split each cell of the table by the side's own certainty."""
    members = members_of(values)
    for row in table["rows"]:
        items = members[row["value"]]
        for cells, side in zip(
            (row["people"], *row["judges"]), (study.people, *study.judges), strict=True
        ):
            high, low = by_certainty(study, side, items, study.threshold)
            cells |= {"high": cell(high), "low": cell(low)}


def groups(report: ReportJson) -> list[Table]:
    tables = []
    names, runs = run_names(report), whole_runs(report)
    sides = ["People, majority", *(names[index] for index in runs)]
    for place, group in enumerate(report["groups"], start=1):
        rows = [
            [row["value"] or "(not said)", row["items"], row["people"]]
            + [row["judges"][index] for index in runs]
            for row in group["rows"]
        ]
        columns = (
            TableColumn(group["label"]),
            TableColumn("Items", "count"),
            *(TableColumn(side, "share") for side in sides),
        )
        tables.append(
            Table(
                f"group_{place}",
                f"Accuracy by {group['label']}",
                columns,
                rows,
                CONDITIONAL,
                family=FAMILY,
            )
        )
    return tables


def group_differences(report: ReportJson) -> list[Table]:
    """One table per grouping, in the order of the groups' own tables."""
    names, runs = run_names(report), whole_runs(report)
    columns = (
        TableColumn("Who"),
        TableColumn("Group"),
        TableColumn("less"),
        *DIFFERENCE,
    )
    tables = []
    for place, group in enumerate(report["groups"], start=1):
        by_side = group["differences"]
        sides = [("People, majority", by_side["people"])]
        sides += [(names[index], by_side["judges"][index]) for index in runs]
        rows = [
            [who, pair["first"] or "(not said)", pair["second"] or "(not said)"]
            + [pair[key] for key in ("difference", "ci", "p", "p_holm")]
            for who, pairs in sides
            for pair in pairs
        ]
        tables.append(
            Table(
                f"differences_{place}",
                f"Differences by {group['label']}",
                columns,
                rows,
                "Groups of at least 30 items each. Only the Holm p, adjusted over the pairs of "
                "all people, runs and groupings, separates a difference from chance.",
                family=FAMILY,
            )
        )
    return tables


def personas(report: ReportJson) -> Table:
    """All persona features in one table."""
    names, runs = run_names(report), whole_runs(report)
    rows = [
        [table["label"], row["value"] or "(not said)", row["items"], row["people"]]
        + [row["judges"][index] for index in runs]
        for table in report["groups"]
        if table["by"] == "feature"
        for row in table["rows"]
    ]
    columns = (
        TableColumn("Feature"),
        TableColumn("Value"),
        TableColumn("Items", "count"),
        *(TableColumn(who, "share") for who in ("People, majority", *(names[i] for i in runs))),
    )
    return Table("personas", "Accuracy by persona feature", columns, rows, CONDITIONAL)


class GroupAccuracy(Section):
    """Accuracy of the majority and every run, by topic and by persona feature."""

    name = "group_accuracy"
    analyses = (
        Analysis(
            "groups",
            tables=("groups", "personas"),
            paths=("groups", "group_errors"),
        ),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        tables, rows = group_tables(study)
        return {"groups": tables, "items": [{"groups": row} for row in rows]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield from groups(report)
        yield from group_differences(report)
        yield personas(report)
