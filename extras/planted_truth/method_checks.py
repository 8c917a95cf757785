"""Checks of what statistics promise: run them, and show or write what came out."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from analysis.errors import AnalysisError
from analysis.promises import MethodCheck
from analysis.report.build import software
from analysis.report.encode import Json
from analysis.report.files.json_file import to_json
from analysis.report.files.table_files import write_tables
from analysis.report.files.table_text import to_text
from analysis.report.render import render_document, shown
from analysis.report.tables import Table, TableColumn
from extras.planted_truth.measure import SLACK, MeasuredPromise, calls_of, measure_all
from extras.planted_truth.registry import families

SCHEMA = "thirdperson.methods/1"
FILES = ("methods.json", "methods.html", "tables")
Chosen = Sequence[tuple[str, MethodCheck]]


class NoSuchChecks(AnalysisError):
    """There is no family of checks with this name."""


def chosen_checks(only: Sequence[str]) -> Chosen:
    """The checks of the families named, or all. Raises `NoSuchChecks` for an unknown name."""
    known = families()
    for name in only:
        if name not in known:
            raise NoSuchChecks(f"There are no checks of “{name}”. Choose from {', '.join(known)}.")
    chosen = [known[name] for name in known if not only or name in only]
    return [(family.name, check) for family in chosen for check in family.checks]


def number_of_calls(checks: Chosen, *, quick: bool) -> int:
    """How often `on_call` will be called."""
    return sum(calls_of(check, quick=quick) for _, check in checks)


def check_methods(
    checks: Chosen, *, quick: bool, seed: int, on_call: Callable[[], object] = lambda: None
) -> Json:
    """The content of methods.json."""
    findings = [
        _entry(finding)
        for found in measure_all(checks, quick=quick, seed=seed, on_call=on_call)
        for finding in found
    ]
    versions = software()
    return {
        "schema": SCHEMA,
        "seed": seed,
        "quick": quick,
        "slack": SLACK,
        "software": f"Thirdperson {versions['thirdperson']}",
        "versions": versions,
        "kept": sum(entry["kept"] is True for entry in findings),
        "broken": sum(entry["kept"] is False for entry in findings),
        "findings": findings,
    }


def _entry(finding: MeasuredPromise) -> Json:
    promise = finding.promise
    return {
        "family": finding.family,
        "check": finding.check,
        "design": finding.design,
        "data": finding.source,
        "promise": finding.name,
        "kind": promise.kind,
        "stated": promise.stated,
        "least": promise.least,
        "most": promise.most,
        "found": finding.found,
        "error": finding.error,
        "n": finding.n,
        "undefined": finding.undefined,
        "kept": finding.kept,
    }


def in_words(result: Mapping[str, Any]) -> str:
    """How many promises were kept, and which were not."""
    total = result["kept"] + result["broken"]
    if not result["broken"]:
        return f"All {total} promises were kept." if total > 1 else "The promise was kept."
    broken = [
        f"{entry['check']}: {entry['promise']}"
        for entry in result["findings"]
        if entry["kept"] is False
    ]
    return f"{result['broken']} of {total} promises were broken: {'; '.join(broken)}."


COLUMNS = (
    TableColumn("Design"),
    TableColumn("What is counted"),
    TableColumn("Kind"),
    TableColumn("Stated", "decimal"),
    TableColumn("At least", "decimal"),
    TableColumn("At most", "decimal"),
    TableColumn("Found", "decimal"),
    TableColumn("Monte Carlo error", "decimal"),
    TableColumn("n", "count"),
    TableColumn("Undefined", "count"),
    TableColumn("Kept"),
)
KEPT = {True: "yes", False: "no", None: "for comparison"}
NOTE = (
    "Coverage: the share of intervals that contain the truth. False claims: the share of studies "
    "with a claim that is false. Mean: of an estimate; stated is the truth. Undefined: studies "
    "without an interval or value, which are not counted."
)


def tables_of(result: Mapping[str, Any]) -> list[Table]:
    """One table for each family."""
    tables = []
    for family, entries in groupby(result["findings"], lambda entry: entry["family"]):
        rows = [
            [
                entry["check"],
                entry["promise"],
                entry["kind"],
                *(entry[key] for key in ("stated", "least", "most", "found", "error")),
                entry["n"],
                entry["undefined"],
                KEPT[entry["kept"]],
            ]
            for entry in entries
        ]
        title = family.replace("-", " ").capitalize()
        tables.append(Table(f"methods_{family}".replace("-", "_"), title, COLUMNS, rows, NOTE))
    return tables


def as_text(result: Mapping[str, Any]) -> str:
    """All tables and the summary, for a terminal."""
    return "\n".join([*map(to_text, tables_of(result)), in_words(result)])


def write_method_checks(result: Mapping[str, Any], out: Path) -> list[Path]:
    """Write all files to the folder `out`, creating it if necessary, and return the paths."""
    tables = tables_of(result)
    out.mkdir(parents=True, exist_ok=True)
    content, page, folder = out / "methods.json", out / "methods.html", out / "tables"
    content.write_text(to_json(result), encoding="utf-8")
    page.write_text(
        render_document(
            "planted_truth/method_checks.html",
            slug="methods",
            shown=[shown(table) for table in tables],
            result=result,
            words=in_words(result),
        ),
        encoding="utf-8",
    )
    if folder.exists():
        shutil.rmtree(folder)
    write_tables(tables, folder)
    return [content, page, *sorted(folder.iterdir())]
