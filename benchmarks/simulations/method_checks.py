"""Run the checks of what statistics promise, by family, and show or write the results."""

import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import groupby
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from analysis.errors import AnalysisError
from analysis.report.build import software
from analysis.report.report_json import Json, to_json
from analysis.report.table_files import to_text, write_tables
from analysis.report.tables import Table, TableColumn
from benchmarks.simulations.families import (
    accuracy,
    agreement,
    biases,
    certainty,
    claims,
    differences,
    published_data,
    replacement,
    steps,
)
from benchmarks.simulations.promises import (
    Counted,
    Counts,
    Family,
    MethodCheck,
    Promise,
    PromiseSource,
)
from extras import NAMES

_OWN = (
    Family("accuracy", accuracy.CHECKS),
    Family("differences", differences.CHECKS),
    Family("agreement", agreement.CHECKS),
    Family("certainty", certainty.CHECKS),
    Family("claims", claims.CHECKS),
    Family("replacement", (*replacement.CHECKS, *steps.CHECKS)),
    Family("biases", biases.CHECKS),
    Family("published-data", published_data.CHECKS),
)


@cache
def families() -> dict[str, Family]:
    """Families by name, for statistics of the core and of extras."""
    return {family.name: family for family in (*_OWN, *_of_extras())}


def _of_extras() -> Iterator[Family]:
    """The families in the modules of extras that are installed."""
    for name in sorted(path.stem for path in Path(__file__).parent.glob("of_extras/[a-z]*.py")):
        if name in NAMES:
            module = import_module(f"benchmarks.simulations.of_extras.{name}")
            yield from (one for one in vars(module).values() if isinstance(one, Family))


# Monte Carlo errors beyond its bound at which a promise counts as broken. With two hundred promises
# that are just kept, chance breaks one in a hundred runs.
SLACK = 4

SEED = 20240701


@dataclass(frozen=True)
class MeasuredPromise:
    """The result for one promise.

    Attributes
    ----------
    found : float or None
        The share or the mean; None if no study gave a value.
    error : float or None
        Its Monte Carlo standard error.
    n : int
        Studies, items or runs that were counted.
    undefined : int
        Studies, items or runs without an interval or value.
    kept : bool or None
        Whether `found` is within four Monte Carlo errors of the bounds; None for comparisons.
    """

    family: str
    check: str
    design: str
    name: str
    source: PromiseSource
    promise: Promise
    found: float | None
    error: float | None
    n: int
    undefined: int
    kept: bool | None


def finding_of(family: str, check: MethodCheck, name: str, counts: Counts) -> MeasuredPromise:
    """The result for the promise `name` of a check."""
    promise = check.promises[name]
    values = np.asarray(counts.values.get(name, ()), dtype=np.float64)
    found = error = kept = None
    if values.size:
        found = float(values.mean())
        error = _error(values, promise.kind)
    if not promise.is_comparison:
        kept = found is not None and error is not None and _within(found, error, promise)
    return MeasuredPromise(
        family,
        check.name,
        check.design,
        name,
        check.source,
        promise,
        found,
        error,
        int(values.size),
        counts.undefined.get(name, 0),
        kept,
    )


def _error(values: np.ndarray, kind: Counted) -> float:
    n = values.size
    if kind == "mean":
        return float(values.std(ddof=1) / sqrt(n)) if n > 1 else float("inf")
    # At least that of one hit, so that a share of 0 or 1 is not treated as certain.
    share = min(max(float(values.mean()), 1 / n), 1 - 1 / n)
    return sqrt(share * (1 - share) / n)


def _within(found: float, error: float, promise: Promise) -> bool:
    slack = SLACK * error
    return (promise.least is None or found >= promise.least - slack) and (
        promise.most is None or found <= promise.most + slack
    )


def calls_of(check: MethodCheck, *, quick: bool) -> int:
    """Number of calls of `once`, at least 1."""
    return max(1, (check.quick if quick else check.full) // check.batch)


def measure(
    family: str,
    check: MethodCheck,
    *,
    calls: int,
    seed: int = SEED,
    on_call: Callable[[], object] = lambda: None,
) -> list[MeasuredPromise]:
    """Simulate a check's studies `calls` times and compare them with its promises."""
    name = zlib.crc32(f"{family}/{check.name}".encode())
    rng = np.random.default_rng([seed, name])
    counts = Counts()
    for _ in range(calls):
        check.once(rng, counts)
        on_call()
    return [finding_of(family, check, promise, counts) for promise in check.promises]


def measure_all(
    checks: Sequence[tuple[str, MethodCheck]],
    *,
    quick: bool,
    seed: int = SEED,
    on_call: Callable[[], object] = lambda: None,
) -> Iterator[list[MeasuredPromise]]:
    """The results of each check in turn."""
    for family, check in checks:
        calls = calls_of(check, quick=quick)
        yield measure(family, check, calls=calls, seed=seed, on_call=on_call)


SCHEMA = "thirdperson.methods/1"
FILES = ("methods.json", "tables")
Chosen = Sequence[tuple[str, MethodCheck]]


class NoSuchChecks(AnalysisError):
    """No family of checks has this name."""


def chosen_checks(only: Sequence[str]) -> Chosen:
    """The checks of the named families, or all. Raises `NoSuchChecks` for an unknown name."""
    known = families()
    for name in only:
        if name not in known:
            raise NoSuchChecks(
                f"There is no family of checks “{name}”. Choose from {', '.join(known)}."
            )
    chosen = [known[name] for name in known if not only or name in only]
    return [(family.name, check) for family in chosen for check in family.checks]


def number_of_calls(checks: Chosen, *, quick: bool) -> int:
    """The number of calls of `on_call`."""
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
    versions = software(())
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
    """Summarise how many promises were kept, and list the broken ones."""
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
    "with a false claim. Mean: the mean of an estimate; “stated” is the truth. Undefined: "
    "studies without an interval or value, which are not counted."
)


def tables_of(result: Mapping[str, Any]) -> list[Table]:
    """One table per family."""
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
    content, folder = out / "methods.json", out / "tables"
    content.write_text(to_json(result), encoding="utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    write_tables(tables, folder)
    return [content, *sorted(folder.iterdir())]
