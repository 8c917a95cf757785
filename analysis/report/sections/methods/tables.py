"""Tables of the bands of certainty and of the plan."""

from typing import Any

from analysis.report.registration import mark_word
from analysis.report.section import Report
from analysis.report.tables import Kind, Table, TableColumn
from analysis.report.text.names import run_names


def band_definitions(report: Report) -> Table:
    """The bands; no rows if nobody was asked for a certainty."""
    is_asked = report["study"]["ask_certainty"] or any(
        judge["setting"] == "certainty" for judge in report["judges"]
    )
    rows = [[band["name"], band["from"], band["to"], band["meaning"]] for band in report["bands"]]
    columns = (
        TableColumn("Band"),
        TableColumn("From", "count"),
        TableColumn("To", "count"),
        TableColumn("Meaning"),
    )
    title = "Certainty bands, the same words for people and models"
    return Table("band_definitions", title, columns, rows if is_asked else [], is_record=True)


def registered(report: Report) -> Table:
    """The mark of every analysis; no rows without a plan, because all are explored then."""
    found = report["registration"]
    rows = [
        [entry["label"], mark_word(entry["mark"]), entry["because"]] for entry in found["analyses"]
    ]
    columns = (TableColumn("Analysis"), TableColumn("Mark"), TableColumn("Why"))
    title = "What was registered and what was explored"
    return Table("registered", title, columns, rows if found["plan"] else [], is_record=True)


_GAP: tuple[tuple[str, Kind], ...] = (("points", "points"), ("95 % interval", "points_range"))


def as_registered(report: Report) -> Table:
    """The sealed items and all items; no rows where the plan sealed all of them, or none."""
    alone = report["registration"].get("as_registered")
    rows: list[list[Any]] = []
    if alone is not None:
        rows.append(["Majority of people", alone["majority"], report["human"]["majority"]])
        rows[0] += [None] * 4
        names = run_names(report)
        place = {judge["run"]: number for number, judge in enumerate(report["judges"])}
        for judge, difference in zip(alone["judges"], alone["differences"], strict=True):
            own = place[judge["run"]]
            gap = report["comparison"][own]["difference_general"]
            rows.append([names[own], judge, report["judges"][own]])
            rows[-1] += [each[key] for each in (difference, gap) for key in ("value", "ci")]
    columns = (
        TableColumn("Who"),
        TableColumn("sealed items", "share", "Accuracy"),
        TableColumn("all items", "share", "Accuracy"),
        *(
            TableColumn(heading, kind, group)
            for group in ("Judge less majority, sealed items", "Judge less majority, all items")
            for heading, kind in _GAP
        ),
    )
    return Table(
        "as_registered",
        "What was registered: the items that the plan sealed, and all items",
        columns,
        rows,
        "The first of each is computed on the sealed items and the planned runs alone, with the "
        "plan's threshold, seed and resamples. Items that came or changed after the plan are only "
        "in the second, which is explored.",
        is_record=True,
    )
