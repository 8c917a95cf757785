"""Numbers of a report change only together with an entry in docs/methods/changes.toml.

tests/analysis/method_numbers.json has the numbers in each part of fixed reports. RENEW_NUMBERS=1
writes it again, once the changes have an entry.
"""

import json
import math
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.rules import method_changes
from judging.models import JudgeRun
from studies.models import Persona, Study
from tests.analysis.builders import random_study

pytestmark = pytest.mark.django_db

FILE = Path(__file__).with_name("method_numbers.json")
# What says which data and programs a report is of.
_NO_CHAPTERS = {"schema", "study", "inputs", "seed", "parameters", "software", "items"}
TOLERANCE = 1e-6  # of a number: processors sum in other orders
_DIGITS = 8


def fixed_study(seed: int, **options: Any) -> Study:
    """A random study in which no name depends on the tests that ran before."""
    study = random_study(seed, n_items=30, n_raters=8, **options)
    Study.objects.filter(pk=study.pk).update(slug=f"fixed-{seed}", title="Fixed", seed=7)
    for rows, name in (
        (JudgeRun.objects.filter(study=study), "key"),
        (Persona.objects.filter(study=study), "key"),
    ):
        for n, row in enumerate(rows.order_by("pk")):
            setattr(row, name, f"{seed}-{n:03}")
            row.save(update_fields=[name])
    study.refresh_from_db()
    return study


def numbers_of(value: Any, path: str = "") -> Iterator[tuple[str, float | bool | None]]:
    """The numbers of a report, each with the chapter and the part of it that it is in."""
    if isinstance(value, dict):
        for name in sorted(value):
            if path or name not in _NO_CHAPTERS:
                part = path if "." in path else f"{path}.{name}".strip(".")
                yield from numbers_of(value[name], part)
    elif isinstance(value, list):
        for entry in value:
            yield from numbers_of(entry, path)
    elif isinstance(value, float):
        yield path, float(f"{value:.{_DIGITS}g}")
    elif value is None or isinstance(value, bool | int):
        yield path, value


def numbers_by_part(study: Study) -> dict[str, list[float | bool | None]]:
    report = build_report(load_dataset(study.slug), seed=1, bootstrap=50)
    parts = defaultdict(list)
    for path, number in numbers_of(json.loads(json.dumps(report))):
        parts[path].append(number)
    return parts


def are_equal(before: list[Any], now: list[Any]) -> bool:
    """Whether the numbers are equal, but for what processors do differently."""
    return len(before) == len(now) and all(
        a == b
        if a is None or b is None or isinstance(a, bool) or isinstance(b, bool)
        else math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-9)
        for a, b in zip(before, now, strict=True)
    )


@pytest.mark.parametrize(
    ("now", "equal"),
    [
        ([0.5, None, True], True),
        ([0.5 * (1 + TOLERANCE / 2), None, True], True),
        ([0.5 * (1 + TOLERANCE * 2), None, True], False),
        ([0.5, 0, True], False),
        ([0.5, None, False], False),
        ([0.5, None], False),
    ],
)
def test_numbers_are_compared_with_a_tolerance_and_reasons_exactly(now, equal):
    assert are_equal([0.5, None, True], now) == equal


def test_numbers_change_only_with_an_entry_in_the_list_of_changes():
    reports = {
        "certainties": numbers_by_part(fixed_study(1)),
        "ties": numbers_by_part(fixed_study(2, allow_tie=True)),
    }
    known = json.loads(FILE.read_text())
    parts = [
        (path, known["reports"][name].get(path), numbers)
        for name, of_report in reports.items()
        for path, numbers in of_report.items()
    ]
    changed = sorted({path for path, before, now in parts if before and not are_equal(before, now)})
    has_entry = len(method_changes()) > known["entries"]
    if os.environ.get("RENEW_NUMBERS") and (has_entry or not changed):
        FILE.write_text(as_text(len(method_changes()), reports))
        return

    how = f"run RENEW_NUMBERS=1 .venv/bin/python -m pytest tests/analysis/{Path(__file__).name}"
    assert not changed, (
        f"Numbers of {', '.join(changed)} changed: add an entry to docs/methods/changes.toml, "
        f"then {how}."
    )
    new = sorted({path for path, before, _ in parts if before is None})
    assert not new, f"{', '.join(new)} is new: {how}."


def as_text(entries: int, reports: dict[str, dict[str, list[Any]]]) -> str:
    """The file, with one line for each part of a report."""
    parts = ",\n".join(
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(
            f"   {json.dumps(path)}: {json.dumps(of_report[path], separators=(',', ':'))}"
            for path in sorted(of_report)
        )
        + "\n  }"
        for name, of_report in reports.items()
    )
    return f'{{\n "entries": {entries},\n "reports": {{\n{parts}\n }}\n}}\n'
