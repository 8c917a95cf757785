"""Accuracy by groups of annotators: who judges whom, and people's own characteristics."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from analysis.data.arrays import MISSING, Dataset
from analysis.data.verdicts import Ints
from analysis.report.report_json import FEWEST_PERSONAS, Json, cell, put
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.sections.groups.accuracy import (
    DIFFERENCE,
    FAMILY,
    MAX_VALUES,
    differences,
    group_cell,
)
from analysis.report.study import ReportedStudy, SharedClusters
from analysis.report.tables import CONDITIONAL, Table, TableColumn, table_of_entries
from analysis.report.words import number_of
from analysis.stats.core.groups import compare_groups
from analysis.stats.core.multiway import multiway_proportion
from analysis.stats.core.results import n_distinct
from analysis.stats.core.votes import Votes

# Smaller groups could identify an annotator, so they have no cells.
FEWEST_PEOPLE = 5


# Characteristics with more values give groups of one annotator.
MOST_VALUES = 8


MOST_TABLES = 6


# Different words for one characteristic.
SAME = {
    "sex": "gender",
    "work": "employment",
    "political affiliation": "politics",
    "race": "ethnicity",
}


def cross_group_accuracy(
    data: Dataset, votes: Votes, correct: Ints, shared: SharedClusters
) -> list[Json]:
    """Accuracy of single answers by group of the annotator and group of the persona.

    Both sides use the same characteristic if there is one, otherwise the first of each. Intervals
    allow for shared items, annotators and personas.
    """
    people = _people(data)
    labels = dict.fromkeys(label for pairs in data.personas.values() for label, _ in pairs)
    personas = {label: values for label in labels if (values := _personas(data, label))}
    pairs = [
        (one, other) for one in people for other in personas if _concept(one) == _concept(other)
    ]
    pairs = pairs or [(one, other) for one in people for other in personas]
    return [
        _table(one, other, people[one], personas[other], votes, correct, shared)
        for one, other in pairs[:MOST_TABLES]
    ]


def _concept(name: str) -> str:
    plain = name.casefold().replace("_", " ").strip()
    return SAME.get(plain, plain)


def _people(data: Dataset) -> dict[str, Sequence[str]]:
    """Every annotator's value for each characteristic, blank in small groups."""
    found: dict[str, Sequence[str]] = {}
    for key in sorted({key for group in data.rater_groups for key in group}):
        values = [group.get(key, "") for group in data.rater_groups]
        large = {value for value, n in Counter(values).items() if n >= FEWEST_PEOPLE} - {""}
        if 1 < len(large) <= MOST_VALUES:
            found[key] = [value if value in large else "" for value in values]
    return found


def _personas(data: Dataset, label: str) -> Sequence[str]:
    """Each item's value for a persona feature; empty if it gives no useful groups."""
    value_of = {key: dict(pairs).get(label, "") for key, pairs in data.personas.items()}
    values = [value_of[item.persona] for item in data.items]
    return values if 1 < len(set(values) - {""}) <= MOST_VALUES else []


def _table(
    annotator: str,
    persona: str,
    people: Sequence[str],
    items: Sequence[str],
    votes: Votes,
    correct: Ints,
    shared: SharedClusters,
) -> Json:
    of_annotator = np.array(people, dtype=np.str_)[votes.annotator]
    of_item = np.array(items, dtype=np.str_)[votes.item]
    scored = correct >= 0
    clusters = shared.of_items(votes.item) | {"annotator": votes.annotator}

    def share(rows: np.ndarray) -> Json:
        chosen = rows & scored
        within = {name: codes[chosen] for name, codes in clusters.items()}
        found = cell(multiway_proportion(correct[chosen] == 1, within).proportion)
        return found | {
            "people": int(n_distinct(votes.annotator[chosen])),
            "personas": int(n_distinct(shared.persona[votes.item[chosen]])),
        }

    columns = sorted(set(items) - {""})
    rows = sorted(set(people) - {""})
    out: Json = {
        "annotator": annotator,
        "persona": persona,
        "columns": columns,
        "rows": [
            {
                "value": row,
                "people": sum(value == row for value in people),
                "cells": [share((of_annotator == row) & (of_item == column)) for column in columns],
            }
            for row in rows
        ],
        "left_out": int(sum(value == "" for value in people)),
    }
    known = (of_annotator != "") & (of_item != "")
    alike = np.char.lower(of_annotator) == np.char.lower(of_item)
    comparable = {row.casefold() for row in rows} & {column.casefold() for column in columns}
    put(out, "own", share(known & alike) if comparable else None, "empty_group")
    put(out, "other", share(known & ~alike) if comparable else None, "empty_group")
    return out


def cross_group_tables(report: ReportJson) -> list[Table]:
    """One table per pair of characteristics: annotators in rows, personas in columns."""
    return [
        Table(
            f"whom_{number}",
            f"Who judges whom: {found['annotator']} of the annotator, {found['persona']} of the "
            "persona",
            (
                TableColumn(f"Annotator: {found['annotator']}"),
                TableColumn("People", "count"),
                *(
                    TableColumn(value, "share", f"Persona: {found['persona']}")
                    for value in found["columns"]
                ),
            ),
            [[row["value"], row["people"], *row["cells"]] for row in found["rows"]],
            _cross_group_note(found),
            family=FAMILY,
        )
        for number, found in enumerate(report["who_judges_whom"], start=1)
    ]


def _cross_group_note(found: ReportJson) -> str:
    n = found["left_out"]
    who = "1 person" if n == 1 else f"{n} people"
    left_out = f" Left out: {who} in smaller or unknown groups." if n else ""
    return (
        "Single answers. Intervals allow for shared items, people, personas and questions. "
        f"Groups of at least five annotators.{left_out} {CONDITIONAL}"
    )


def own_group(report: ReportJson) -> Table:
    """Personas of the annotator's own group compared with all others."""
    return table_of_entries(
        "own_group",
        "Are people better at judging for others like them?",
        [
            (f"{found['annotator']} / {found['persona']}", found)
            for found in report["who_judges_whom"]
            if found["own"] is not None
        ],
        [("Same group", "share", "own"), ("Another group", "share", "other")],
        "Same group: both have the same word for the characteristic. Single answers. "
        + CONDITIONAL,
        first="Annotator / persona",
    )


class CrossGroupAccuracy(Section):
    """Accuracy by group of the annotator and group of the persona."""

    name = "cross_group"
    shows = ("own_group", "whom_*")
    analyses = (Analysis("groups", tables=("own_group",), paths=("who_judges_whom",)),)
    keys = """
who_judges_whom | list | Accuracy by feature of the annotator and of the persona.
who_judges_whom.annotator | text | Feature of the annotator.
who_judges_whom.persona | text | Feature of the persona.
columns | list | Values of the persona's feature.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        found = cross_group_accuracy(study.data, study.votes, study.correct_alone, study.shared)
        return {"who_judges_whom": found}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield from cross_group_tables(report)
        yield own_group(report)


def without_small_groups(tables: Sequence[ReportJson]) -> list[Json]:
    """For copies without people: no column of fewer than five personas.

    Groups of annotators are already large.
    """
    return [_fewer_columns(table) for table in tables]


def _fewer_columns(table: ReportJson) -> Json:
    kept = [
        place
        for place in range(len(table["columns"]))
        if any(row["cells"][place]["personas"] >= FEWEST_PERSONAS for row in table["rows"])
    ]
    return {
        **table,
        "columns": [table["columns"][place] for place in kept],
        "rows": [
            {**row, "cells": [row["cells"][place] for place in kept]} for row in table["rows"]
        ],
    }


def annotator_groups(study: ReportedStudy) -> list[Json]:
    """Accuracy of single answers by annotators' own characteristics.

    Groups of fewer than five annotators are only counted, so that nobody can be identified.
    """
    data, votes = study.data, study.votes
    labels = dict.fromkeys(key for group in data.rater_groups for key in group)
    tables = []
    for label in labels:
        values = [group.get(label, "") for group in data.rater_groups]
        people = Counter(values)
        names = sorted(value for value, n in people.items() if n >= FEWEST_PEOPLE)
        if not 1 < len(names) <= MAX_VALUES:
            continue
        code_of = {value: code for code, value in enumerate(names)}
        codes = np.array([code_of.get(value, MISSING) for value in values], dtype=np.int64)
        clusters = study.shared.of_items(votes.item) | {"annotator": votes.annotator}
        side = compare_groups(study.correct_alone, codes[votes.annotator], clusters=clusters)
        rows = [
            {"value": value, "people": people[value], "answers": group_cell(side, code)}
            for code, value in enumerate(names)
        ]
        table: Json = {"label": label, "rows": rows, "differences": differences(side, names)}
        tables.append(table | {"left_out": int((codes == MISSING).sum())})
    return tables


def annotator_group_tables(report: ReportJson) -> list[Table]:
    """Accuracy and differences by annotators' own characteristics."""
    tables = []
    for place, group in enumerate(report["annotator_groups"], start=1):
        rows = [
            [row["value"] or "(not said)", row["people"], row["answers"]] for row in group["rows"]
        ]
        columns = (
            TableColumn(group["label"]),
            TableColumn("People", "count"),
            TableColumn("Single answers", "share"),
        )
        title = f"People's accuracy by their own {group['label']}"
        few = number_of(group["left_out"], "person")
        note = f"Groups of fewer than five people are left out ({few}). {CONDITIONAL}"
        tables.append(Table(f"annotators_{place}", title, columns, rows, note, family=FAMILY))
        pairs = [
            [pair["first"] or "(not said)", pair["second"] or "(not said)"]
            + [pair[key] for key in ("difference", "ci", "p", "p_holm")]
            for pair in group["differences"]
        ]
        tables.append(
            Table(
                f"annotator_differences_{place}",
                f"Differences by annotators' {group['label']}",
                (TableColumn("Group"), TableColumn("less"), *DIFFERENCE),
                pairs,
                "Only the Holm p separates a difference from chance in many comparisons. "
                "Intervals allow for shared items, people, personas and questions.",
                family=FAMILY,
            )
        )
    return tables


class AnnotatorGroups(Section):
    """Accuracy by annotators' own characteristics."""

    name = "annotator_groups"
    shows = ("annotators_*", "annotator_differences_*")
    analyses = (Analysis("groups", paths=("annotator_groups",)),)
    keys = "annotator_groups | list | Accuracy by features of the annotators."

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"annotator_groups": annotator_groups(study)}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield from annotator_group_tables(report)


CROSS_GROUPS = CrossGroupAccuracy()
CHARACTERISTICS = AnnotatorGroups()
