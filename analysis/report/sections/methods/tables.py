"""Tables of the bands of certainty and of the plan."""

from analysis.report.registration import mark_word
from analysis.report.section import Report
from analysis.report.tables import Column, Table


def band_definitions(report: Report) -> Table:
    """The bands; no rows if nobody was asked for a certainty."""
    is_asked = report["study"]["ask_certainty"] or any(
        judge["setting"] == "certainty" for judge in report["judges"]
    )
    rows = [[band["name"], band["from"], band["to"], band["meaning"]] for band in report["bands"]]
    columns = (Column("Band"), Column("From", "count"), Column("To", "count"), Column("Meaning"))
    title = "Certainty bands, the same words for people and models"
    return Table("band_definitions", title, columns, rows if is_asked else [], is_record=True)


def registered(report: Report) -> Table:
    """The mark of every analysis; no rows without a plan, because all are explored then."""
    found = report["registration"]
    rows = [
        [entry["label"], mark_word(entry["mark"]), entry["because"]] for entry in found["analyses"]
    ]
    columns = (Column("Analysis"), Column("Mark"), Column("Why"))
    title = "What was registered and what was explored"
    return Table("registered", title, columns, rows if found["plan"] else [], is_record=True)
