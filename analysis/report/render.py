"""A report, or several studies side by side, as one HTML file that works offline and on paper.

Averages over studies are unweighted means of the data sets' accuracies; a pooled report is shown
separately and not averaged.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from functools import cache, partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from analysis.report.build import all_chapters, all_figures, all_sentences, all_tables
from analysis.report.citation import bibtex, methods_paragraph
from analysis.report.figures import Figure
from analysis.report.registration import mark_of
from analysis.report.report_json import ReportJson
from analysis.report.rules import MORE_PARTS, PLOTLY, SMALL, TOO_SMALL
from analysis.report.section import (
    ReportPage,
    Section,
    SentencePlace,
    attempted,
    part_words,
    with_parts,
)
from analysis.report.sections.accuracy.high_and_low import by_band_over_studies, table_b
from analysis.report.sections.accuracy.section import comparison
from analysis.report.sections.glance.accuracies import at_a_glance
from analysis.report.sections.methods import run_facts
from analysis.report.sentences import Text
from analysis.report.table_files import TEX, item_rows, pack, plain_rows
from analysis.report.tables import (
    CONDITIONAL,
    FIRST_ROWS,
    ShownTable,
    Table,
    TableColumn,
    in_general,
)
from analysis.report.verdict import verdict_of
from analysis.report.words import (
    asked_name,
    late_changes,
    named_entries,
    threshold_standing,
    threshold_words,
)

STATIC = Path(settings.BASE_DIR) / "static"
# The page's modules in dependency order, and the parts dropped when joining them.
SCRIPTS = (
    "report-page",
    "report-rows",
    "report-tables",
    "report-zip",
    "report-figures",
    "report-threshold",
    "report-items",
    "report",
)
_IMPORTS_AND_EXPORTS = re.compile(r"^(?:import [^;]+;\n|export )", re.MULTILINE)

_PACKED = re.compile(r'<script type="application/json" class="packed".*?</script>')
_PLOTS = '<script type="application/json" id="plots">'

_JSON_ESCAPES = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


@dataclass(frozen=True)
class Chapter:
    """A section for display."""

    number: int
    section: Section
    body: SafeString
    findings: list[Text]
    begins_appendix: bool


def render_html(
    report: Mapping[str, Any],
    *,
    date: Date,
    number: int | None = None,
    asked_on: Mapping[str, str] | None = None,
    tables: Mapping[str, Table] | None = None,
    figures: Mapping[str, Figure] | None = None,
    failed: list[str] | None = None,
    for_paper: bool = False,
) -> str:
    """Render the whole page; `report` is the content of report.json.

    `date` is printed on it, and `number` too if it is a numbered report of a study. `asked_on` has
    the days on which runs asked their models, which report.json lacks. `tables` and `figures` are
    the report's, if already made. `for_paper` says that the folder has the two pages and the
    article's tables, so that the page links to them. `failed` names parts that could not be made;
    parts that the page cannot show are added.
    """
    failed = [] if failed is None else failed
    made = all_tables(report, failed) if tables is None else tables
    on_page = {table.name: shown(table, report) for table in made.values()}
    figures = all_figures(report, failed) if figures is None else figures
    page = ReportPage(report, on_page, figures, date, asked_on or {})
    context = {
        "report": report,
        "tables": on_page,
        "figures": figures,
        "is_shared": "redacted" in report,
        "runs": attempted(lambda: _runs(page), part="runs", failed=failed) or [],
        "has_truth": page.has_truth,
        "threshold": threshold_words(report),
        "threshold_standing": threshold_standing(report),
        "late_changes": late_changes(report),
        "headline_mark": attempted(
            lambda: mark_of(report, ["headline", "state"]), part="first_screen", failed=failed
        ),
        "verdict": attempted(lambda: verdict_of(report), part="first_screen", failed=failed),
        "headline": _texts(report, "headline"),
        "methods_paragraph": methods_paragraph(report),
        "bibtex": bibtex(report, date),
        "date": date,
        "number": number,
        "plots": _json(_plots(figures)),
        "facts": _json(
            {
                "slug": report["study"]["slug"],
                "threshold": report["parameters"]["threshold"],
                "tex": TEX,
            }
        ),
        "style": _file("css/report.css"),
        "script": _script(),
        "plotly": _file(PLOTLY),
        "policy": content_security_policy(),
        "for_paper": for_paper,
    }
    needed = [section for section in all_chapters() if _is_needed(section, report, failed)]
    folded = next((section for section in needed if not section.is_open), None)
    chapters = [
        Chapter(
            number,
            section,
            _body(section, page, context, failed),
            _findings(section, report),
            begins_appendix=section is folded,
        )
        for number, section in enumerate(needed, start=1)
    ]
    # Last, because failures are known only now.
    missing = _texts(report, "missing", failed)
    names = sorted({*report.get("failed_parts", ()), *failed})
    context["missing"] = [*(Text(((part_words(name), ""),)) for name in names), *missing]
    return _packed_last(
        render_to_string("analysis/report/page.html", context | {"chapters": chapters})
    )


def _is_needed(section: Section, report: Mapping[str, Any], failed: list[str]) -> bool:
    return bool(attempted(lambda: section.is_needed(report), part=section.name, failed=failed))


def _runs(page: ReportPage) -> list[tuple[str, Mapping[str, Any], list[tuple[str, str, str]], Any]]:
    """Name, entry, facts and days of each run."""
    report = page.report
    return [
        (name, judge, list(run_facts(report, index)), page.asked_on.get(judge["run"]))
        for index, (name, judge) in enumerate(named_entries(report, "judges"))
    ]


def shown(table: Table, report: Mapping[str, Any] | None = None) -> ShownTable:
    """A table for the page; long ones have more rows for the script."""
    # The script finds the rows of these by position.
    is_whole = table.threshold or table.name == "methods" or table.name.startswith("group_")
    if is_whole or len(table.rows) <= FIRST_ROWS:
        return ShownTable(table, limit=len(table.rows))
    rows_of = partial(item_rows, report) if report and table.name == "items" else plain_rows
    packed, n = pack(partial(rows_of, table), len(table.rows))
    return ShownTable(table, packed=packed, n_packed=n)


def _body(
    section: Section, page: ReportPage, context: Mapping[str, Any], failed: list[str]
) -> SafeString:
    """A chapter's tables, figures and texts; empty if the page cannot show them."""

    def body() -> SafeString:
        own = {"added": list(_added(section, page)), **section.context(page)}
        return render_to_string(section.template, {**context, **own})

    if section.name in page.report.get("failed_parts", ()):
        return SafeString("")
    return attempted(body, part=section.name, failed=failed) or SafeString("")


def _added(section: Section, page: ReportPage) -> Iterator[tuple[Figure | None, ShownTable | None]]:
    """What parts of extras show in a chapter: figures with their tables, and tables."""
    for name in (name for part in MORE_PARTS[section.name] for name in part.shows):
        figure, table = page.figures.get(name), page.tables.get(name)
        if figure is not None:
            yield figure, page.tables.get(figure.table)
        if table is not None and (figure is None or figure.table != name):
            yield None, table


def _findings(section: Section, report: Mapping[str, Any]) -> list[Text]:
    """The statements at the top of a chapter: findings of the section and its parts."""
    parts = {part.name for part in with_parts([section])}
    return [one.text for one in all_sentences(report, "finding", of=parts)]


def _texts(
    report: Mapping[str, Any], place: SentencePlace, failed: list[str] | None = None
) -> list[Text]:
    return [sentence.text for sentence in all_sentences(report, place, failed=failed)]


def render_across(
    reports: Sequence[Mapping[str, Any]],
    tables: Sequence[Table],
    *,
    date: Date,
    for_paper: bool = False,
) -> str:
    """Render the page of several studies: tables side by side, and links to each report.

    `for_paper` says that the folder has the article's tables of all studies.
    """
    return render_document(
        "analysis/report/across.html",
        slug="studies",
        reports=reports,
        shown=[shown(table) for table in tables],
        pooled=[report for report in reports if is_pooled(report)],
        for_paper=for_paper,
        is_simulated=any(report["study"]["simulated"] for report in reports),
        date=date,
    )


def render_document(
    template: str, *, slug: str, figures: Sequence[Figure] = (), **context: Any
) -> str:
    """Render a page other than a report as one file with the same style and script.

    `template` extends “analysis/report/document.html”; names of downloaded files start with `slug`.
    Without figures, the drawing script is left out.
    """
    drawing = {
        "plots": _json(_plots({figure.name: figure for figure in figures})),
        "plotly": _file(PLOTLY),
    }
    shared = {
        "report": {},  # only single reports mark tables by their plan
        "facts": _json({"slug": slug, "threshold": None, "tex": TEX}),
        "style": _file("css/report.css"),
        "script": _script(),
        "policy": content_security_policy(),
        **(drawing if figures else {}),
    }
    return _packed_last(render_to_string(template, shared | context))


def _packed_last(page: str) -> str:
    """The page with the packed rows of its tables after its script, which they would delay."""
    packed = "".join(_PACKED.findall(page))
    before, plots, after = _PACKED.sub("", page).partition(_PLOTS)
    return before + packed + plots + after


@cache
def content_security_policy() -> str:
    """The page's policy:

    run its own two scripts, identified by hash, and load nothing else. In the app the script may
    request more rows of items. Inline styles are allowed because plotly writes them; they cannot
    send data anywhere.
    """
    hashes = " ".join(f"'sha256-{_sha256(text)}'" for text in (_script(), _file(PLOTLY)))
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _script() -> SafeString:
    """All modules joined, because a page opened from disk cannot import other files."""
    parts = (_IMPORTS_AND_EXPORTS.sub("", _file(f"js/{name}.js")) for name in SCRIPTS)
    return mark_safe("\n".join(parts))  # noqa: S308  as below


def style_of(page: str) -> SafeString:
    """The style sheet of a page, to insert into it."""
    return _file(f"css/{page}.css")


@cache
def _file(name: str) -> SafeString:
    """A file of this package, to insert into the page unchanged."""
    text = (STATIC / name).read_text("utf-8")
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError(f"{name} would end the element that holds it")
    return mark_safe(text)  # noqa: S308  our own file, checked above


def _json(value: Any) -> SafeString:
    """JSON that cannot end the script element that contains it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return mark_safe(text.translate(_JSON_ESCAPES))  # noqa: S308  escaped above


def _plots(figures: Mapping[str, Figure]) -> dict[str, Any]:
    """The plots for the browser, by element id."""
    return {
        f"{figure.name}-{number}": {**panel.drawing, "marks": panel.marks}
        for figure in figures.values()
        for number, panel in enumerate(figure.panels, start=1)
    }


ShownCell = Mapping[str, Any]

NO_TIE, WITH_TIE = "No tie", "With tie"
# Chance accuracy with two and with three options.
RANDOM = {NO_TIE: 1 / 2, WITH_TIE: 1 / 3}
NOTHING: ShownCell = {"n": 0, "correct": 0, "accuracy": None, "ci": None}
AVERAGE = (
    f"Average: the unweighted mean over the data sets with at least {TOO_SMALL} answers in the "
    "cell."
)


def is_pooled(report: ReportJson) -> bool:
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
    tables.append(by_band_over_studies([r for r in reports if not is_pooled(r)]))
    return [table for table in tables if table.rows]


def table_1(reports: Sequence[ReportJson]) -> Table:
    """Raters in rows; data sets in columns, without and with a tie option; averages last."""
    apart = [report for report in reports if not is_pooled(report)]
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
        "or else the one with certainty. Random: one of two or of three options. "
        f"{_note(apart, averaged)} {CONDITIONAL}",
    )


def table_2(reports: Sequence[ReportJson]) -> Table:
    """Data sets in rows, with averages below; raters in columns, at high and low certainty."""
    apart = [report for report in reports if not is_pooled(report)]
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
    rows += [[report["study"]["title"], *cells(report)] for report in reports if is_pooled(report)]
    thresholds = sorted({report["parameters"]["threshold"] for report in reports})
    return Table(
        "table_2",
        "Table 2. Accuracy at high and low certainty on every data set",
        tuple(columns),
        rows if raters else [],
        f"High: a certainty of at least {', '.join(map(str, thresholds))}. "
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
