"""Accuracy of single answers by annotators' own characteristics."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from analysis.data.arrays import MISSING
from analysis.report.encode import Json
from analysis.report.section import Report, Section
from analysis.report.sections.groups.accuracy import MAX_VALUES
from analysis.report.sections.groups.comparison import DIFFERENCE, FAMILY, differences, group_cell
from analysis.report.study import ReportedStudy
from analysis.report.tables import CONDITIONAL, Table, TableColumn
from analysis.report.text.numbers import number_of
from analysis.stats.core.groups import compare_groups

# The fewest annotators that a group may have.
MIN_PEOPLE = 5


def annotator_groups(study: ReportedStudy) -> list[Json]:
    """Accuracy of single answers by annotators' own characteristics.

    Groups of fewer than five annotators are left out and counted, so that nobody is identifiable.
    """
    data, votes = study.data, study.votes
    labels = dict.fromkeys(key for group in data.rater_groups for key in group)
    tables = []
    for label in labels:
        values = [group.get(label, "") for group in data.rater_groups]
        people = Counter(values)
        names = sorted(value for value, n in people.items() if n >= MIN_PEOPLE)
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


def annotator_group_tables(report: Report) -> list[Table]:
    """Accuracy and differences by annotators' own characteristics."""
    tables = []
    for number, group in enumerate(report["annotator_groups"], start=1):
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
        note = f"Left out are groups of fewer than five people ({few}). {CONDITIONAL}"
        tables.append(Table(f"annotators_{number}", title, columns, rows, note, family=FAMILY))
        pairs = [
            [pair["first"] or "(not said)", pair["second"] or "(not said)"]
            + [pair[key] for key in ("difference", "ci", "p", "p_holm")]
            for pair in group["differences"]
        ]
        tables.append(
            Table(
                f"annotator_differences_{number}",
                f"Differences by annotators' {group['label']}",
                (TableColumn("Group"), TableColumn("less"), *DIFFERENCE),
                pairs,
                "Only the Holm p separates a difference from chance in many comparisons. Intervals "
                "allow for items, people, personas and questions in common.",
                family=FAMILY,
            )
        )
    return tables


class AnnotatorGroups(Section):
    """Accuracy by annotators' own characteristics."""

    name = "annotator_groups"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"annotator_groups": annotator_groups(study)}

    def tables(self, report: Report) -> Iterator[Table]:
        yield from annotator_group_tables(report)
