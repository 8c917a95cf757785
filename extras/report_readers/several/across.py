"""The page and the tables of several studies: each data set apart, and what they have in common.

Averages are unweighted means of the data sets' accuracies. A pooled report is shown separately and
not averaged.
"""

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.report.added_files import MORE, AddedFiles
from analysis.report.figures import (
    JUDGES,
    REFERENCE,
    ROW_MARGIN,
    Figure,
    axis,
    panel,
    row_axis,
    row_label,
    scatter_trace,
    vertical,
    write_figures,
)
from analysis.report.quantities import fixed
from analysis.report.render import render_document, shown
from analysis.report.report_json import ReportJson
from analysis.report.rules import SMALL, TOO_SMALL
from analysis.report.sections.accuracy.high_and_low import (
    BAND_COLUMNS,
    BAND_FIELDS,
    BAND_NAMES,
    BAND_NOTE,
    BANDS,
)
from analysis.report.table_files import write_tables
from analysis.report.tables import (
    CONDITIONAL,
    Table,
    TableColumn,
    in_general,
    interval_of,
    without_interval,
)
from analysis.report.words import asked_name, number_of, points, run_name
from analysis.stats.core.multiplicity import holm
from extras.report_readers.several.common import CommonRun, common_runs
from studies.statements import clock

ShownCell = Mapping[str, Any]

NO_TIE, WITH_TIE = "No tie", "With tie"
# Chance accuracy with two and with three options.
RANDOM = {NO_TIE: 1 / 2, WITH_TIE: 1 / 3}
NOTHING: ShownCell = {"n": 0, "correct": 0, "accuracy": None, "ci": None}
AVERAGE = (
    f"Average: the unweighted mean over the data sets with at least {TOO_SMALL} answers in the "
    "cell."
)


def write_across(
    results: Sequence[dict[str, Any]],
    out: Path,
    *,
    added: Collection[AddedFiles],
    not_pooled: Sequence[str] = (),
) -> Path:
    """Write the page, tables and figure across studies, replacing old ones; return the page.

    The results of pooled studies come last. `not_pooled` says which studies are not pooled, and
    why. `added` writes files of all studies too.
    """
    apart, pooled = (
        [result for result in results if _is_pooled(result) == wanted] for wanted in (False, True)
    )
    runs = common_runs(apart)
    data_sets, common = [data_table(r, n) for n, r in enumerate(apart)], common_table(runs)
    tables = [table for table in (common, *data_sets, *tables_across(results)) if table.rows]
    figures = [figure] if (figure := forest(apart, runs)) else []
    folders = [*(report["study"]["slug"] for report in apart), *pooled_folders(len(pooled))]
    page, date = out / "report.html", clock.now().date()
    html = render_document(
        "several_studies/across.html",
        slug="studies",
        figures=figures,
        drawn=figures,
        reports=list(zip(results, folders, strict=True)),
        software=results[0]["software"],
        findings=[run.sentence for run in runs],
        shown=[shown(table) for table in tables if table is not common],
        common=shown(common),
        pooled=pooled,
        not_pooled=not_pooled,
        links=[one.links_across for one in added if one.links_across],
        is_simulated=any(result["study"]["simulated"] for result in results),
        date=date,
    )
    page.write_text(html, encoding="utf-8")
    for name in ("tables", "figures", *(path for one in MORE for path in one.paths_across)):
        shutil.rmtree(out / name, ignore_errors=True)
    write_tables(tables, out / "tables")
    if figures:
        write_figures(figures, out / "figures")
    for one in added:
        one.write_across(results, out, date=date)
    return page


def pooled_folders(n: int) -> list[str]:
    """The folders of pooled reports: “pooled”, or “pooled-1” and so on if there are several."""
    return ["pooled"] if n == 1 else [f"pooled-{number}" for number in range(1, n + 1)]


def common_table(runs: Sequence[CommonRun]) -> Table:
    """Each judge on each data set, then the mean of the data sets and whether they differ."""
    rows: list[list[Any]] = []
    for run in runs:
        for title, part in run.parts.items():
            general = part["difference_general"]
            left_out = f"not in the mean: {run.missing[title]}" if title in run.missing else None
            ends = interval_of(general), general["p"]
            rows.append([run.name, title, general["n"], general["value"], *ends, None, left_out])
        if run.combined is not None:
            ends = run.combined.ci, run.combined.p
            apart = "differ" if run.p_apart_holm is not None and run.p_apart_holm <= 0.05 else None
            mean = [run.name, "Mean of data sets", None, run.combined.mean.value, *ends]
            rows.append([*mean, run.p_holm, apart and f"the data sets {apart}"])
    return Table(
        "common",
        "What the data sets have in common: a judge minus the majority of people",
        (
            TableColumn("Judge"),
            TableColumn("Data"),
            TableColumn("Items", "count"),
            TableColumn("Difference", "points"),
            TableColumn("95 % interval", "points_range"),
            TableColumn("p", "p"),
            TableColumn("Holm p, all judges", "p"),
            TableColumn("Note"),
        ),
        rows,
        "Difference: how often the judge, which saw the whole persona, is right minus how often "
        "the majority of people is, on common items, as in each report. Mean: unweighted; no "
        "answers are added up. Its interval is about these data sets and others like their people, "
        "personas and questions. It holds if the data sets share no people and no items. “The data "
        "sets differ”: Welch’s test, adjusted by Holm over the judges, as the test of the mean.",
    )


def forest(reports: Sequence[ReportJson], runs: Sequence[CommonRun]) -> Figure | None:
    """Each judge minus people on each data set, and its mean over data sets."""
    panels = []
    for run in runs:
        rows = [
            (title, general["value"], interval_of(general))
            for title, part in run.parts.items()
            if (general := part["difference_general"])["value"] is not None
        ]
        colours, symbols = [JUDGES[0]] * len(rows), ["circle"] * len(rows)
        if run.combined is not None:
            rows.append(("Mean of data sets", run.combined.mean.value, run.combined.ci))
            colours, symbols = [*colours, REFERENCE], [*symbols, "diamond"]
        if rows:
            panels.append(_forest_panel(run.name, rows, colours, symbols))
    if not panels:
        return None
    simulated = any(report["study"]["simulated"] for report in reports)
    return Figure(
        "common",
        fixed(f"{'Simulated data. ' if simulated else ''}Judges minus people on each data set"),
        fixed(
            "Points that a judge is right more often than the majority of people, with 95 % "
            "intervals for others like these people, personas and questions; without a line where "
            "the report has no interval. The diamond is the unweighted mean of the data sets."
        ),
        "common",
        panels,
        is_stacked=True,
    )


def _forest_panel(
    name: str, rows: Sequence[tuple[str, float, Any]], colours: list[str], symbols: list[str]
) -> Any:
    values = [100 * value for _, value, _ in rows]
    ends = [
        (100 * ci[0], 100 * ci[1]) if ci else (v, v)
        for v, (_, _, ci) in zip(values, rows, strict=True)
    ]
    reach = 1.1 * max(5.0, *(abs(end) for pair in ends for end in pair))
    places = list(range(len(rows)))
    return panel(
        name,
        "; ".join(f"{title}: {points(value)}" for title, value, _ in rows),
        [
            scatter_trace(
                x=values,
                y=places,
                mode="markers",
                marker={"color": colours, "symbol": symbols, "size": 10},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [high - v for v, (_, high) in zip(values, ends, strict=True)],
                    "arrayminus": [v - low for v, (low, _) in zip(values, ends, strict=True)],
                    "thickness": 1.5,
                    "width": 4,
                    "color": REFERENCE,
                },
                hovertemplate="%{x:+.1f} points<extra></extra>",
            )
        ],
        height=70 + 46 * len(rows),
        margin=ROW_MARGIN,
        xaxis=axis("points that the judge is right more often", range=[-reach, reach]),
        yaxis=row_axis(len(rows)),
        shapes=[vertical(0, REFERENCE)],
        annotations=[
            row_label(n, title, points(value)) for n, (title, value, _) in enumerate(rows)
        ],
    )


_VERSUS = (
    TableColumn("Difference", "points", "Minus the majority, common items"),
    TableColumn("95 % interval", "points_range", "Minus the majority, common items"),
    TableColumn("Holm p", "p", "Minus the majority, common items"),
)


def data_table(report: ReportJson, number: int) -> Table:
    """One data set: its people and its runs with the whole persona, overall and by certainty."""
    human, inputs, study = report["human"], report["inputs"], report["study"]
    sides: list[tuple[str, ReportJson, ShownCell, list[Any]]] = []
    nothing: list[Any] = [None] * len(_VERSUS)
    if human["majority"]["n"]:
        majority = human["majority"]
        sides.append(("People, majority", majority, in_general(majority), nothing))
    if human["individual"]["n"]:
        single = human["individual"]
        sides.append(("One person", single, without_interval(single), nothing))
    judges = [judge for judge in report["judges"] if judge["features"] == "all"]
    versus_of = {versus["run"]: versus["difference_general"] for versus in report["comparison"]}
    for judge in judges:
        versus = versus_of[judge["run"]]
        numbers = [versus["value"], interval_of(versus), versus["p_holm"]]
        sides.append((run_name(judge, judges), judge, in_general(judge), numbers))
    is_certain = any(side[band]["n"] for _, side, _, _ in sides for band in BANDS)
    bands = BANDS if is_certain else ()
    threshold = f" High: at least {report['parameters']['threshold']:g}." if is_certain else ""
    return Table(
        f"data_{number + 1}",
        f"{study['title']}: {study['question']}",
        (
            TableColumn("Who"),
            TableColumn("All", "share"),
            *(TableColumn(f"{band.capitalize()} certainty", "share") for band in bands),
            *_VERSUS,
        ),
        [
            [name, accuracy, *(_band(side, band) for band in bands), *numbers]
            for name, side, accuracy, numbers in sides
        ],
        f"{number_of(inputs['items'], 'item')}, {number_of(inputs['annotations'], 'answer')} of "
        f"{number_of(human['annotators'], 'person')}.{threshold} Judges with the whole persona. "
        f"{CONDITIONAL}",
    )


def _band(side: Mapping[str, Any], band: str) -> ShownCell:
    """An accuracy at high or low certainty; without an interval where the report has none."""
    accuracy: ShownCell = side[band]
    return {**accuracy, "ci": accuracy.get("clusters", {}).get("ci")}


def _is_pooled(report: ReportJson) -> bool:
    return "pooled_from" in report["study"]["source"]


def tables_across(reports: Sequence[ReportJson]) -> list[Table]:
    """Tables 1 and 2, and judges against people at equal certainty."""
    # A pooled report repeats the items, so it is in no family of tests.
    return [table_1(reports), table_2(reports), by_band([r for r in reports if not _is_pooled(r)])]


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
            in_general(sides[r][part]) if r in sides else NOTHING for r in raters for part in BANDS
        ]

    rows: list[list[Any]] = [[report["study"]["title"], *cells(report)] for report in apart]
    names = [f"{rater} ({part})" for rater in raters for part in BANDS]
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


def _raters(reports: Sequence[ReportJson], settings: Sequence[str]) -> list[str]:
    """All raters, annotators first, in the order of the data sets."""
    raters = [rater for r in reports for setting in settings for rater in _sides(r, setting)]
    return sorted(dict.fromkeys(raters), key=lambda rater: rater != "People")


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
    compared = [
        (report, versus, band)
        for report in reports
        for versus in report["comparison"]
        for band in BANDS
        if versus["features"] == "all"
    ]
    adjusted = holm([versus["by_band"][band]["p"] for _, versus, band in compared])
    rows = [
        [
            report["study"]["title"],
            run_name(versus, report["comparison"]),
            BAND_NAMES[band],
            *(versus["by_band"][band][key] for key in BAND_FIELDS),
            p,
        ]
        for (report, versus, band), p in zip(compared, adjusted, strict=True)
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
