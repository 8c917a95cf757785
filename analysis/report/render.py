"""A report as one HTML file that works offline and on paper."""

import base64
import fnmatch
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date as Date
from functools import cache, partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from analysis.report.build import all_chapters, all_figures, all_sentences, all_tables
from analysis.report.citation import bibtex, methods_paragraph
from analysis.report.figures import Figure, plots_json
from analysis.report.quantities import Text, bare
from analysis.report.registration import mark_of
from analysis.report.results import late_changes
from analysis.report.rules import parts_of
from analysis.report.section import (
    ReportJson,
    ReportPage,
    Section,
    SentencePlace,
    attempted,
    of_extras,
    on_in,
    part_words,
    with_parts,
)
from analysis.report.sections.methods import run_facts
from analysis.report.table_files import TEX, item_rows, pack, plain_rows
from analysis.report.tables import (
    CONDITIONAL,
    FIRST_ITEMS,
    FIRST_ROWS,
    HIGH,
    ShownTable,
    Table,
    compact,
)
from analysis.report.verdict.first_screen import verdict_of
from analysis.report.words import (
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

# Tables that are only in the files of a report, unless a part of an extra shows them.
DETAILS = (
    "clusters",
    "table_b_single",
    "difference_intervals",
    "by_band",
    "certainty_measures",
    "bands",
    "agreement_matrix*",
    "differences_*",
    "errors_by_group",
    # The features of personas, each of which has a table on the page, in one.
    "personas",
    "raters",
    "band_definitions",
)

_JSON_ESCAPES = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


@dataclass(frozen=True)
class Chapter:
    """A section for display; what a view changes has the number 0, which is not shown."""

    number: int
    section: Section
    body: SafeString
    findings: list[Text]
    subsections: list[tuple[Section, SafeString]]


def render_html(
    report: Mapping[str, Any],
    *,
    date: Date,
    number: int | None = None,
    asked_on: Mapping[str, str] | None = None,
    tables: Mapping[str, Table] | None = None,
    figures: Mapping[str, Figure] | None = None,
    failed: list[str] | None = None,
    links: Sequence[str] = (),
) -> str:
    """Render the whole page; `report` is the content of report.json.

    `date` is printed on it, and `number` too if it is a numbered report of a study. `asked_on` has
    the days on which runs asked their models, which report.json lacks. `tables` and `figures` are
    the report's, if already made. `links` are templates with links to other files in its folder.
    `failed` names parts that could not be made; parts that the page cannot show are added.
    """
    failed = [] if failed is None else failed
    by_name = all_tables(report, failed) if tables is None else tables
    on_page = {
        name: shown(table, report) for name, table in by_name.items() if _is_shown(name, report)
    }
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
        "plots": _in_script(plots_json(figures.values())),
        "facts": _in_script(
            compact(
                {
                    "slug": report["study"]["slug"],
                    "threshold": report["parameters"]["threshold"],
                    "tex": TEX,
                }
            )
        ),
        "style": _file("css/report.css"),
        "script": _script(),
        "policy": content_security_policy(),
        "how_to_read": f"{HIGH} {CONDITIONAL}",
        "links": links,
        "packed": [],
    }
    needed = [
        section for section in all_chapters(on_in(report)) if _is_needed(section, report, failed)
    ]
    chapters = [
        Chapter(
            number,
            section,
            _body(section, page, context, failed),
            _findings(section, report),
            [
                (inner, _body(inner, page, context, failed))
                for inner in section.subsections
                if _is_needed(inner, report, failed)
            ],
        )
        for number, section in enumerate(needed, start=0 if "view" in report else 1)
    ]
    # Last, because failures are known only now.
    missing = _texts(report, "missing", failed)
    names = sorted({*report.get("failed_parts", ()), *failed})
    context["missing"] = [*(bare(part_words(name)) for name in names), *missing]
    return render_to_string("analysis/report/page.html", context | {"chapters": chapters})


def _is_needed(section: Section, report: Mapping[str, Any], failed: list[str]) -> bool:
    return bool(attempted(lambda: section.is_needed(report), part=section.name, failed=failed))


def _runs(page: ReportPage) -> list[tuple[str, Mapping[str, Any], list[tuple[str, str, str]], Any]]:
    """Name, entry, facts and days of each run."""
    report = page.report
    return [
        (name, judge, list(run_facts(report, index)), page.asked_on.get(judge["run"]))
        for index, (name, judge) in enumerate(named_entries(report, "judges"))
    ]


def _is_shown(name: str, report: ReportJson) -> bool:
    """Whether the page has the table: details are in files, unless an extra shows them."""
    patterns = [pattern for part in of_extras(on_in(report)) for pattern in part.shows]
    return not _any_fits(DETAILS, name) or _any_fits(patterns, name)


def _any_fits(patterns: Iterable[str], name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def shown(table: Table, report: Mapping[str, Any] | None = None) -> ShownTable:
    """A table for the page; long ones have more rows for the script.

    The page of a report says once what the notes of many tables say, and leaves out rows without
    any value.
    """
    note = str(table.note)
    if report is not None:
        note = " ".join(note.replace(CONDITIONAL, "").replace(HIGH, "").split(" ")).strip()
    # The script finds the rows of these by position.
    is_whole = table.threshold or table.name == "methods" or table.name.startswith("group_")
    limit = FIRST_ITEMS if table.name == "items" else FIRST_ROWS
    if is_whole or len(table.rows) <= limit:
        if report is not None and not is_whole:
            rows = [row for row in table.rows if any(cell not in (None, "") for cell in row[1:])]
            table = replace(table, rows=rows)
        return ShownTable(table, limit=len(table.rows), note=note)
    rows_of = partial(item_rows, report) if report and table.name == "items" else plain_rows
    packed, n = pack(partial(rows_of, table), len(table.rows))
    return ShownTable(table, limit=limit, packed=packed, n_packed=n, note=note)


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
    is_on = on_in(page.report)
    patterns = [pattern for part in parts_of(section.name).added(is_on) for pattern in part.shows]
    names = dict.fromkeys([*page.figures, *page.tables])
    for name in (name for pattern in patterns for name in fnmatch.filter(names, pattern)):
        figure, table = page.figures.get(name), page.tables.get(name)
        if figure is not None:
            yield figure, page.tables.get(figure.table)
        if table is not None and (figure is None or figure.table != name):
            yield None, table


def _findings(section: Section, report: Mapping[str, Any]) -> list[Text]:
    """The statements at the top of a chapter: findings of the section and its parts."""
    parts = {part.name for part in with_parts([section], on_in(report))}
    return [one.text for one in all_sentences(report, "finding", of=parts)]


def _texts(
    report: Mapping[str, Any], place: SentencePlace, failed: list[str] | None = None
) -> list[Text]:
    return [sentence.text for sentence in all_sentences(report, place, failed=failed)]


def render_document(
    template: str, *, slug: str, figures: Sequence[Figure] = (), **context: Any
) -> str:
    """Render a page other than a report as one file with the same style and script.

    `template` extends “analysis/report/document.html”; names of downloaded files start with `slug`.
    """
    shared = {
        "report": {},  # only single reports mark tables by their plan
        "packed": [],
        "facts": _in_script(compact({"slug": slug, "threshold": None, "tex": TEX})),
        "style": _file("css/report.css"),
        "script": _script(),
        "policy": content_security_policy(),
    }
    if figures:
        shared["plots"] = _in_script(plots_json(figures))
    return render_to_string(template, shared | context)


@cache
def content_security_policy() -> str:
    """The page's policy:

    run its own script, identified by its hash, and load nothing else. In the app the script may
    request more rows of items. Inline styles are allowed because plotly writes them there; they
    cannot send data anywhere.
    """
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


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


def _in_script(json_text: str) -> SafeString:
    """JSON that cannot end the script element that contains it."""
    return mark_safe(json_text.translate(_JSON_ESCAPES))  # noqa: S308  escaped here
