"""The report as one HTML file that opens offline, in the app and on A4 alike."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date as Date
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from analysis.replication.cells import TITLES
from analysis.replication.tables import verdict
from analysis.report.citation import bibtex, methods_paragraph
from analysis.report.contents import all_figures, all_tables
from analysis.report.figures import Figure
from analysis.report.registration import mark_of
from analysis.report.sections.accuracy.tables import threshold_standing, threshold_words
from analysis.report.sections.methods.sources import flat, run_facts
from analysis.report.sentences import gaps, late_changes, position
from analysis.report.study_tables import is_pooled
from analysis.report.table_files import TEX
from analysis.report.tables import Table, compact
from analysis.report.text.numbers import run_names

STATIC = Path(settings.BASE_DIR) / "static"
PLOTLY = STATIC / "vendor" / "plotly" / "plotly-basic-4.1.1.min.js"
# The page's own script, in the order in which its parts need one another.
SCRIPTS = (
    "report", "report-tables", "report-zip", "report-figures", "report-threshold", "report-items",
    "report-start",
)  # fmt: skip
# Beyond this many rows the page shows the first ones and points to the CSV file.
MAX_ROWS = 1000

_JSON_ESCAPES = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


@dataclass(frozen=True)
class Shown:
    """A table as the page shows it: cut to what a page can hold."""

    table: Table
    limit: int = MAX_ROWS

    @property
    def rows(self) -> list[Any]:
        return replace(self.table, rows=self.table.rows[: self.limit]).cells

    @property
    def left_out(self) -> int:
        return max(0, len(self.table.rows) - self.limit)


def render_html(
    report: Mapping[str, Any],
    *,
    date: Date,
    number: int | None = None,
    asked_on: Mapping[str, str] | None = None,
) -> str:
    """The whole page; `report` is the content of report.json.

    `date` is printed on it, and `number`, where it is one of the numbered reports of a study.
    `asked_on` has the days on which runs asked their models, which report.json does not hold.
    """
    tables = {name: Shown(table) for name, table in all_tables(report).items()}
    figures = all_figures(report)
    names = run_names(report)
    has_truth = report["inputs"]["truth"]["unknown"] < report["inputs"]["items"]
    context = {
        "report": report,
        "tables": tables,
        "groups": [
            (shown, tables.get(name.replace("group_", "differences_")))
            for name, shown in tables.items()
            if name.startswith("group_") and not ("heat_topics" in figures and name == "group_1")
        ],
        "whom": [shown for name, shown in tables.items() if name.startswith("whom_")],
        "annotators": [
            (shown, tables.get(name.replace("annotators_", "annotator_differences_")))
            for name, shown in tables.items()
            if name.startswith("annotators_")
        ],
        "figures": figures,
        "runs": [
            (name, judge, list(run_facts(report, index)), (asked_on or {}).get(judge["run"]))
            for index, (name, judge) in enumerate(zip(names, report["judges"], strict=True))
        ],
        # Without a truth the page has no tables of accuracy; their files are there all the same.
        "linked": set(tables) - (set() if has_truth else {"at_a_glance", "table_b", "comparison"}),
        "source_rows": [
            (cells, cells[2].text, cells[3].text) for cells in tables["methods"].table.cells
        ],
        "prompts": _prompts(report),
        # Templates find the method of that name before the key “items” of a dictionary.
        "item_table": tables.get("items"),
        "item_rows": list(_item_rows(report, tables)),
        "threshold": threshold_words(report),
        "threshold_standing": threshold_standing(report),
        "threshold_origin": _origin(report),
        "late_changes": late_changes(report),
        "headline_mark": mark_of(report, ["headline", "state"]),
        "source": list(flat(report["study"]["source"], "study.source")),
        "has_truth": has_truth,
        "gaps": gaps(report),
        "lights": position(report),
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
    return render_to_string("analysis/report/page.html", context)


def render_across(
    reports: Sequence[Mapping[str, Any]], tables: Sequence[Table], *, date: Date
) -> str:
    """The page of several studies: their tables side by side, and where each has its own."""
    context = {
        "reports": reports,
        "report": {},  # the marks of tables are said of one report
        "shown": [Shown(table) for table in tables],
        "pooled": [report for report in reports if is_pooled(report)],
        "is_simulated": any(report["study"]["simulated"] for report in reports),
        "date": date,
        "facts": _json({"slug": "studies", "threshold": None, "tex": TEX}),
        "style": _file("css/report.css"),
        "script": _script(),
        "policy": content_security_policy(),
    }
    return render_to_string("analysis/report/across.html", context)


def render_replication(
    result: Mapping[str, Any], tables: Mapping[str, Table], figures: Sequence[Figure]
) -> str:
    """The page of a replication; `result` is the content of replication.json."""
    named = {figure.name: figure for figure in figures}
    context = {
        "result": result,
        "report": {},  # as above
        "verdict": verdict(result["cells"]),
        "files": Shown(tables["files"]),
        "cells": [Shown(tables[name]) for name in TITLES if name in tables],
        "printed": Shown(tables["printed"]),
        "figures": [(figure, Shown(tables[figure.name])) for figure in figures],
        "plots": _json(_plots(named)),
        "facts": _json({"slug": "replication", "threshold": None, "tex": TEX}),
        "style": _file("css/report.css"),
        "script": _script(),
        "plotly": _file(str(PLOTLY.relative_to(STATIC))),
        "policy": content_security_policy(),
    }
    return render_to_string("analysis/report/replication.html", context)


@cache
def content_security_policy() -> str:
    """What the page may do: run its own two scripts, known by hash, and load nothing at all.

    Styles are inline because plotly writes its own; they cannot send anything anywhere.
    """
    hashes = " ".join(
        f"'sha256-{_sha256(text)}'" for text in (_script(), _file(str(PLOTLY.relative_to(STATIC))))
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _item_rows(report: Mapping[str, Any], tables: Mapping[str, Shown]) -> Iterator[Any]:
    """The rows of the table of items, each with what the filters ask of it."""
    if "items" not in tables:
        return
    for row, item in zip(tables["items"].rows, report["items"], strict=False):
        sides = [
            [side["choice"], side["certainty"], {True: 1, False: 0, None: None}[side["correct"]]]
            for side in (item["people"], *item["judges"])
        ]
        groups = " ".join(f"{number}.{code}" for number, code in enumerate(item["groups"]))
        yield row, {"key": item["item"], "sides": compact(sides), "groups": groups}


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _script() -> SafeString:
    """One script of all parts: they share their names, and the policy one hash."""
    return mark_safe("\n".join(_file(f"js/{name}.js") for name in SCRIPTS))  # noqa: S308  as below


@cache
def _file(name: str) -> SafeString:
    """A file of our own, to be written into the page as it is."""
    text = (STATIC / name).read_text("utf-8")
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError(f"{name} would end the element that holds it")
    return mark_safe(text)  # noqa: S308  our own file, checked above


def _json(value: Any) -> SafeString:
    """JSON that cannot end the script element that holds it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return mark_safe(text.translate(_JSON_ESCAPES))  # noqa: S308  escaped above


def _plots(figures: Mapping[str, Figure]) -> dict[str, Any]:
    """What the browser draws, by the id of its place."""
    return {
        f"{figure.name}-{number}": {**panel.drawing, "marks": panel.marks}
        for figure in figures.values()
        for number, panel in enumerate(figure.panels, start=1)
    }


def _prompts(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each prompt once, with the runs that used it."""
    found: dict[str, dict[str, Any]] = {}
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        record = judge["record"]
        entry = found.setdefault(
            record["prompt_file_hash"], {"text": record["prompt"], "runs": [], "hash": ""}
        )
        entry["runs"].append(name)
        entry["hash"] = record["prompt_file_hash"]
    return list(found.values())


def _origin(report: Mapping[str, Any]) -> str:
    """How the threshold of the report came about, for the rules of the methods."""
    if report["parameters"]["explored"]:
        return "explored: chosen for this report, post hoc"
    standing = threshold_standing(report)
    return {
        "registered": "registered in the plan that was frozen before the data",
        "set before the data": "set before the data in the study's settings",
    }.get(standing, f"{standing}, post hoc")
