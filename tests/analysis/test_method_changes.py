"""Numbers of a report change only together with an entry in docs/methods/changes.toml.

tests/analysis/method_numbers.json has a digest of the numbers in each part of fixed reports.
RENEW_NUMBERS=1 writes it again, once the changes have an entry.
"""

import hashlib
import json
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

pytestmark = [pytest.mark.django_db, pytest.mark.computed]

FILE = Path(__file__).with_name("method_numbers.json")
# What says which data and programs a report is of.
_NO_CHAPTERS = {"schema", "study", "inputs", "seed", "parameters", "software", "items"}
_DIGITS = 6  # More would differ between processors.


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


def parts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The numbers of a report, each with the chapter and the part of it that it is in."""
    if isinstance(value, dict):
        for name in sorted(value):
            if path or name not in _NO_CHAPTERS:
                yield from parts(value[name], path if "." in path else f"{path}.{name}".strip("."))
    elif isinstance(value, list):
        for each in value:
            yield from parts(each, path)
    elif value is None or isinstance(value, bool):
        yield path, str(value)
    elif isinstance(value, int | float):
        yield path, f"{value:.{_DIGITS}g}"


def digests(study: Study) -> dict[str, str]:
    found = defaultdict(list)
    report = build_report(load_dataset(study.slug), seed=1, bootstrap=50)
    for path, number in parts(json.loads(json.dumps(report))):
        found[path].append(number)
    return {
        path: hashlib.sha256(" ".join(own).encode()).hexdigest()[:8] for path, own in found.items()
    }


def test_numbers_change_only_with_an_entry_in_the_list_of_changes():
    found = {
        "certainties": digests(fixed_study(1)),
        "ties": digests(fixed_study(2, allow_tie=True)),
    }
    known = json.loads(FILE.read_text())
    pairs = [
        (path, known["reports"][name].get(path), digest)
        for name, own in found.items()
        for path, digest in own.items()
    ]
    changed = sorted({path for path, before, now in pairs if before not in (None, now)})
    has_entry = len(method_changes()) > known["entries"]
    if os.environ.get("RENEW_NUMBERS") and (has_entry or not changed):
        content = {"entries": len(method_changes()), "reports": found}
        FILE.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
        return

    how = f"run RENEW_NUMBERS=1 .venv/bin/python -m pytest tests/analysis/{Path(__file__).name}"
    assert not changed, (
        f"Numbers of {', '.join(changed)} changed: add an entry to docs/methods/changes.toml, "
        f"then {how}."
    )
    new = sorted({path for path, before, _ in pairs if before is None})
    assert not new, f"{', '.join(new)} is new: {how}."
