"""The chapter of a report that shows another view of a study: what it changes."""

from collections.abc import Iterator

from analysis.report.section import ReportJson, Section
from analysis.report.tables import Table, TableColumn


def what_changes(report: ReportJson) -> Table:
    """The main numbers of the study's own report beside those of the view."""
    rows = [
        [row["what"], row["registered"], row["view"], "yes" if row["changes"] else "no"]
        for row in report["view"]["what_changes"]
    ]
    columns = (
        TableColumn("What"),
        TableColumn("Own report"),
        TableColumn("This view"),
        TableColumn("Changes"),
    )
    note = (
        "Own report: the same study read as it is registered, with its own threshold, from the "
        "data at the time when this view was computed."
    )
    return Table("what_changes", "What changes", columns, rows, note)


class ViewSection(Section):
    """What another view changes; absent from a study's own report."""

    name = "view"
    title = "What this view changes"
    is_open = True

    def is_needed(self, report: ReportJson) -> bool:
        return "view" in report

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "view" in report:
            yield what_changes(report)
