"""The report as one HTML file that works offline, in the app and on A4 paper."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from functools import cache, partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from analysis.report.contents import all_chapters, all_figures, all_sentences, all_tables
from analysis.report.figures import Figure
from analysis.report.files.citation import bibtex, methods_paragraph
from analysis.report.files.item_rows import item_rows, pack, plain_rows
from analysis.report.files.table_files import TEX
from analysis.report.registration import mark_of
from analysis.report.section import Place, ReportPage, Section, attempted, part_words, with_parts
from analysis.report.sections.methods.runs import run_facts
from analysis.report.study_tables import is_pooled
from analysis.report.tables import FIRST_ROWS, ShownTable, Table
from analysis.report.text.names import named_entries
from analysis.report.text.sentences import Text
from analysis.report.text.thresholds import late_changes, threshold_standing, threshold_words
from analysis.report.verdict import verdict_of

STATIC = Path(settings.BASE_DIR) / "static"
PLOTLY = STATIC / "vendor" / "plotly" / "plotly-basic-4.1.1.min.js"
# The page's own modules, in the order of their dependencies, and what is left out to join them.
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

_JSON_ESCAPES = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


@dataclass(frozen=True)
class Chapter:
    """A section as shown on the page."""

    number: int
    section: Section
    body: SafeString
    findings: list[Text]


def render_html(
    report: Mapping[str, Any],
    *,
    date: Date,
    number: int | None = None,
    asked_on: Mapping[str, str] | None = None,
    tables: Mapping[str, Table] | None = None,
    figures: Mapping[str, Figure] | None = None,
    failed: list[str] | None = None,
) -> str:
    """Render the whole page; `report` is the content of report.json.

    `date` is printed on it, and so is `number` if it is one of the numbered reports of a study.
    `asked_on` has the days on which runs asked their models, which report.json does not hold.
    `tables` and `figures` are those of the report, if they have been made already, and `failed`
    names the parts of which some could not be made; those of which the page cannot show the rest
    are added.
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
        "plotly": _file(str(PLOTLY.relative_to(STATIC))),
        "policy": content_security_policy(),
    }
    needed = [section for section in all_chapters() if _is_needed(section, report, failed)]
    chapters = [
        Chapter(number, section, _body(section, page, context, failed), _findings(section, report))
        for number, section in enumerate(needed, start=1)
    ]
    # Last, when it is known which parts could not be shown.
    missing = _texts(report, "missing", failed)
    names = sorted({*report.get("failed_parts", ()), *failed})
    context["missing"] = [*(Text(((part_words(name), ""),)) for name in names), *missing]
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


def shown(table: Table, report: Mapping[str, Any] | None = None) -> ShownTable:
    """A table as the page shows it; a long one has more rows for the script."""
    # The script finds rows of these by their place in the page.
    is_whole = table.threshold or table.name == "methods" or table.name.startswith("group_")
    if is_whole or len(table.rows) <= FIRST_ROWS:
        return ShownTable(table, limit=len(table.rows))
    rows_of = partial(item_rows, report) if report and table.name == "items" else plain_rows
    packed, n = pack(partial(rows_of, table), len(table.rows))
    return ShownTable(table, packed=packed, n_packed=n)


def _body(
    section: Section, page: ReportPage, context: Mapping[str, Any], failed: list[str]
) -> SafeString:
    """A chapter's tables, figures and texts; nothing if the page cannot show them."""

    def body() -> SafeString:
        return render_to_string(section.template, {**context, **section.context(page)})

    if section.name in page.report.get("failed_parts", ()):
        return SafeString("")
    return attempted(body, part=section.name, failed=failed) or SafeString("")


def _findings(section: Section, report: Mapping[str, Any]) -> list[Text]:
    """The statements at the head of a chapter: the findings of the section and of its parts."""
    parts = {part.name for part in with_parts([section])}
    return [one.text for one in all_sentences(report, "finding", of=parts)]


def _texts(report: Mapping[str, Any], place: Place, failed: list[str] | None = None) -> list[Text]:
    return [sentence.text for sentence in all_sentences(report, place, failed=failed)]


def render_across(
    reports: Sequence[Mapping[str, Any]], tables: Sequence[Table], *, date: Date
) -> str:
    """Render the page of several studies: their tables side by side, and links to each report."""
    return render_document(
        "analysis/report/across.html",
        slug="studies",
        reports=reports,
        shown=[shown(table) for table in tables],
        pooled=[report for report in reports if is_pooled(report)],
        is_simulated=any(report["study"]["simulated"] for report in reports),
        date=date,
    )


def render_document(
    template: str, *, slug: str, figures: Sequence[Figure] = (), **context: Any
) -> str:
    """Render a page other than a report, in one file with the same style and script.

    `template` extends “analysis/report/document.html”; files that the page offers begin with
    `slug`. Without figures it does without what draws them.
    """
    drawing = {
        "plots": _json(_plots({figure.name: figure for figure in figures})),
        "plotly": _file(str(PLOTLY.relative_to(STATIC))),
    }
    shared = {
        "report": {},  # tables are marked by the plan of one report
        "facts": _json({"slug": slug, "threshold": None, "tex": TEX}),
        "style": _file("css/report.css"),
        "script": _script(),
        "policy": content_security_policy(),
        **(drawing if figures else {}),
    }
    return render_to_string(template, shared | context)


@cache
def content_security_policy() -> str:
    """The policy of the page: run its own two scripts, identified by hash, and load nothing else.

    In the app the script may ask for more rows of items; a file on a disk has no such place.
    Styles are inline because plotly writes its own; they cannot send data anywhere.
    """
    hashes = " ".join(
        f"'sha256-{_sha256(text)}'" for text in (_script(), _file(str(PLOTLY.relative_to(STATIC))))
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _script() -> SafeString:
    """All modules as one: a page that opens from a disk has no other file to import."""
    parts = (_IMPORTS_AND_EXPORTS.sub("", _file(f"js/{name}.js")) for name in SCRIPTS)
    return mark_safe("\n".join(parts))  # noqa: S308  as below


@cache
def _file(name: str) -> SafeString:
    """A file of this package, inserted into the page unchanged."""
    text = (STATIC / name).read_text("utf-8")
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError(f"{name} would end the element that holds it")
    return mark_safe(text)  # noqa: S308  our own file, checked above


def _json(value: Any) -> SafeString:
    """JSON that cannot end the script element that contains it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return mark_safe(text.translate(_JSON_ESCAPES))  # noqa: S308  escaped above


def _plots(figures: Mapping[str, Figure]) -> dict[str, Any]:
    """The plots for the browser, by the id of their place on the page."""
    return {
        f"{figure.name}-{number}": {**panel.drawing, "marks": panel.marks}
        for figure in figures.values()
        for number, panel in enumerate(figure.panels, start=1)
    }
