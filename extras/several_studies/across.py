"""The page and the tables of several studies side by side, next to their reports.

Averages are unweighted means of the data sets' accuracies; a pooled report is shown separately and
not averaged.
"""

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.report.added_files import MORE, AddedFiles
from analysis.report.render import render_document, shown
from analysis.report.report_json import ReportJson
from analysis.report.rules import SMALL, TOO_SMALL
from analysis.report.sections.accuracy.high_and_low import (
    BAND_COLUMNS,
    BAND_FIELDS,
    BAND_NAMES,
    BAND_NOTE,
    BANDS,
    table_b,
)
from analysis.report.sections.accuracy.section import comparison
from analysis.report.sections.glance.accuracies import at_a_glance
from analysis.report.table_files import write_tables
from analysis.report.tables import CONDITIONAL, Table, TableColumn, in_general
from analysis.report.words import asked_name, run_name
from analysis.stats.core.multiplicity import holm
from studies.statements import clock


def write_across(
    results: Sequence[dict[str, Any]], out: Path, *, added: Collection[AddedFiles]
) -> Path:
    """Write the page and tables across studies, replacing old ones; return the page.

    `added` writes files of all studies too.
    """
    tables, page, date = tables_across(results), out / "report.html", clock.now().date()
    html = render_document(
        "several_studies/across.html",
        slug="studies",
        reports=results,
        shown=[shown(table) for table in tables],
        pooled=[result for result in results if _is_pooled(result)],
        links=[each.links_across for each in added if each.links_across],
        is_simulated=any(result["study"]["simulated"] for result in results),
        date=date,
    )
    page.write_text(html, encoding="utf-8")
    for name in ("tables", *(path for each in MORE for path in each.paths_across)):
        shutil.rmtree(out / name, ignore_errors=True)
    write_tables(tables, out / "tables")
    for each in added:
        each.write_across(results, out, date=date)
    return page


ShownCell = Mapping[str, Any]

NO_TIE, WITH_TIE = "No tie", "With tie"
# Chance accuracy with two and with three options.
RANDOM = {NO_TIE: 1 / 2, WITH_TIE: 1 / 3}
NOTHING: ShownCell = {"n": 0, "correct": 0, "accuracy": None, "ci": None}
AVERAGE = (
    f"Average: the unweighted mean over the data sets with at least {TOO_SMALL} answers in the "
    "cell."
)


def _is_pooled(report: ReportJson) -> bool:
    return "pooled_from" in report["study"]["source"]


def tables_across(reports: Sequence[ReportJson]) -> list[Table]:
    """Tables 1 and 2, and every study's tables with the study as first column."""
    tables = [table_1(reports), table_2(reports)]
    for maker in (at_a_glance, table_b, comparison):
        made = [(report["study"]["title"], maker(report)) for report in reports]
        first = made[0][1]
        rows = [[title, *row] for title, table in made for row in table.rows]
        columns = (TableColumn("Data"), *first.columns)
        tables.append(Table(first.name, first.title, columns, rows, first.note))
    # A pooled report repeats the items, so it is in no family of tests.
    tables.append(by_band([r for r in reports if not _is_pooled(r)]))
    return [table for table in tables if table.rows]


def table_1(reports: Sequence[ReportJson]) -> Table:
    """Raters in rows; data sets in columns, without and with a tie option; averages last."""
    apart = [report for report in reports if not _is_pooled(report)]
    settings = [
        setting
        for setting in (NO_TIE, WITH_TIE)
        if any(_sides(report, setting) for report in reports)
    ]
    columns = [TableColumn("Rater")]
    for name in (*(report["study"]["title"] for report in reports), "Average"):
        columns += [TableColumn(setting, "share", name) for setting in settings]
    spread = len(reports) + 1
    rows: list[list[Any]] = [
        [
            "Random",
            *(_alone(RANDOM[setting]) for setting in settings),
        ]
    ]
    rows[0] += rows[0][1:] * (spread - 1)
    averaged: dict[str, list[ShownCell]] = {}
    for rater in _raters(reports, settings):
        row: list[Any] = [rater]
        for report in reports:
            row += [_sides(report, setting).get(rater, NOTHING) for setting in settings]
        for setting in settings:
            cells = [_sides(report, setting).get(rater, NOTHING) for report in apart]
            averaged[f"{rater} ({setting.lower()})"] = cells
            row.append(_average(cells))
        rows.append(row)
    return Table(
        "table_1",
        "Table 1. Accuracy of every rater on every data set",
        tuple(columns),
        rows,
        "People: the majority. Judges: the whole persona; without a tie, the standard setting "
        "or else the one with certainty. Random: one of two or of three options. Replies that name "
        "no side are left out, also with a tie. "
        f"{_note(apart, averaged)} {CONDITIONAL}",
    )


def table_2(reports: Sequence[ReportJson]) -> Table:
    """Data sets in rows, with averages below; raters in columns, at high and low certainty."""
    apart = [report for report in reports if not _is_pooled(report)]
    stating = [_certain(report) for report in reports]
    raters = list(dict.fromkeys(rater for sides in stating for rater in sides))
    columns = [TableColumn("Data")]
    for rater in raters:
        columns += [TableColumn("High", "share", rater), TableColumn("Low", "share", rater)]

    def cells(report: ReportJson) -> list[ShownCell]:
        sides = _certain(report)
        return [
            in_general(sides[r][part]) if r in sides else NOTHING for r in raters for part in PARTS
        ]

    rows: list[list[Any]] = [[report["study"]["title"], *cells(report)] for report in apart]
    names = [f"{rater} ({part})" for rater in raters for part in PARTS]
    of_data_sets = zip(*(cells(report) for report in apart), strict=True)
    averaged = dict(zip(names, of_data_sets, strict=True))
    rows.append(["Average", *map(_average, averaged.values())])
    rows += [[report["study"]["title"], *cells(report)] for report in reports if _is_pooled(report)]
    thresholds = sorted({report["parameters"]["threshold"] for report in reports})
    return Table(
        "table_2",
        "Table 2. Accuracy at high and low certainty on every data set",
        tuple(columns),
        rows if raters else [],
        f"High: a certainty of at least {', '.join(map(str, thresholds))}. Replies that name no "
        "side are left out. "
        f"{_note(apart, averaged)} {CONDITIONAL}",
    )


PARTS = ("high", "low")


def _raters(reports: Sequence[ReportJson], settings: Sequence[str]) -> list[str]:
    """All raters, annotators first, in the order of the data sets."""
    found = [rater for r in reports for setting in settings for rater in _sides(r, setting)]
    return sorted(dict.fromkeys(found), key=lambda rater: rater != "People")


def _sides(report: ReportJson, setting: str) -> dict[str, ShownCell]:
    """The raters of a setting: the majority, and judges that saw the whole persona."""
    offered = WITH_TIE if report["study"]["allow_tie"] else NO_TIE
    people = in_general(report["human"]["majority"])
    sides = {"People": people} if offered == setting and people["n"] else {}
    names = ("tie",) if setting == WITH_TIE else ("standard", "certainty")
    for name in reversed(names):
        sides |= {
            asked_name(judge): in_general(judge)
            for judge in report["judges"]
            if judge["features"] == "all" and judge["setting"] == name and judge["n"]
        }
    return sides


def _certain(report: ReportJson) -> dict[str, ReportJson]:
    sides = {"People": report["human"]["majority"]}
    sides |= {
        asked_name(judge): judge
        for judge in report["judges"]
        if judge["features"] == "all" and judge["setting"] == "certainty"
    }
    return {name: side for name, side in sides.items() if side["high"]["n"] + side["low"]["n"]}


def _average(cells: Sequence[ShownCell]) -> ShownCell:
    enough = _enough(cells)
    if not enough:
        return _alone(None)
    mean = sum(cell["accuracy"] for cell in enough) / len(enough)
    return _alone(mean, small=any(cell["n"] < SMALL for cell in enough))


def _enough(cells: Sequence[ShownCell]) -> list[ShownCell]:
    return [cell for cell in cells if cell["n"] >= TOO_SMALL]


def _note(reports: Sequence[ReportJson], averaged: Mapping[str, Sequence[ShownCell]]) -> str:
    """A note on the averages, naming their data sets where some are left out."""
    partial: dict[tuple[str, ...], list[str]] = {}
    for name, cells in averaged.items():
        inside = tuple(
            report["study"]["title"]
            for report, cell in zip(reports, cells, strict=True)
            if _enough([cell])
        )
        if 0 < len(inside) < len(reports):
            partial.setdefault(inside, []).append(name)
    parts = [f"{' and '.join(inside)} for {', '.join(names)}" for inside, names in partial.items()]
    return f"{AVERAGE} Over {'; over '.join(parts)} alone." if parts else AVERAGE


def _alone(accuracy: float | None, *, small: bool = False) -> ShownCell:
    """An accuracy without counts: a baseline or a mean."""
    return {"accuracy": accuracy, "n": None, "correct": None, "ci": None, "small": small}


def by_band(reports: Sequence[ReportJson]) -> Table:
    """The comparisons of runs that saw the whole persona, with Holm's p over all studies."""
    found = [
        (report, versus, band)
        for report in reports
        for versus in report["comparison"]
        for band in BANDS
        if versus["features"] == "all"
    ]
    adjusted = holm([versus["by_band"][band]["p"] for _, versus, band in found])
    rows = [
        [
            report["study"]["title"],
            run_name(versus, report["comparison"]),
            BAND_NAMES[band],
            *(versus["by_band"][band][key] for key in BAND_FIELDS),
            p,
        ]
        for (report, versus, band), p in zip(found, adjusted, strict=True)
        if versus["by_band"][band]["n"]
    ]
    return Table(
        "by_band",
        "Judge and majority at equal certainty, over all data",
        (
            TableColumn("Data"),
            TableColumn("Run"),
            *BAND_COLUMNS,
            TableColumn("Holm p, all data", "p"),
        ),
        rows,
        f"{BAND_NOTE}, of every study in this table.",
    )
