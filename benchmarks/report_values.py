"""Whether a report has the same values in two checkouts of the program, such as before a change.

    python -m benchmarks.report_values /path/of/the/other/checkout

Both build report.json of one study of the demo's size and of twelve small random ones: with and
without ties, right answers, people and certainties, with partial answers, repeated questions, both
orders, other wordings and framings, probabilities and criteria. It prints every path whose value
differs. The order of analyses and of kinds of claims does not count.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SAME = 1e-12  # relative difference of two numbers that are equal
NOT_COMPARED = ("software.code", "software.thirdperson")
# Lists whose order says nothing: of objects by this key, and of names.
BY_KEY, NAMES = ("kind", "analysis"), ("tables", "paths")

STEADY: Mapping[str, Any] = {"judge": "steady", "setting": "certainty"}
RUNS: Mapping[str, list[dict[str, Any]]] = {
    "usual": [
        {**STEADY},
        {"judge": "other", "setting": "certainty"},
        {**STEADY, "features": "none"},
    ],
    "repeated": [
        {**STEADY, "orders": "both", "samples": 3},
        {"judge": "ties", "setting": "tie", "orders": "both"},
    ],
    "ways": [
        {**STEADY, "framing": framing, "orders": "both"} for framing in ("observer", "persona")
    ],
    "plain": [{"judge": "plain", "setting": "standard"}],
    "none": [],
}
UNKNOWN, NO_TIES = ("",), ("r1", "r2")
STUDIES: tuple[dict[str, Any], ...] = (
    {"n_items": 300, "n_raters": 30, "n_personas": 30, "per_item": (3,), "runs": "usual"},
    {"runs": "usual"},
    {"runs": "repeated", "allow_tie": True},
    {"runs": "ways", "truths": NO_TIES, "n_items": 80, "n_personas": 16},
    {"runs": "none"},
    {"runs": "plain", "truths": UNKNOWN},
    {"runs": "usual", "truths": UNKNOWN, "n_items": 90, "n_raters": 12, "n_personas": 20},
    {"runs": "usual", "per_item": (0,), "truths": NO_TIES},
    {"runs": "repeated", "per_item": (0, 1), "n_items": 60},
    {"runs": "usual", "n_personas": 2, "n_items": 120, "n_raters": 20},
    {"runs": "ways", "allow_tie": True, "n_items": 120, "n_personas": 30, "n_raters": 24},
    {"runs": "repeated", "n_items": 120, "n_personas": 40, "truths": NO_TIES, "n_raters": 24},
    {"runs": "usual", "n_items": 200, "n_personas": 50, "truths": NO_TIES, "n_raters": 40},
)


def write(folder: Path) -> None:
    """The reports of this process's checkout."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
    os.environ["DATABASE_URL"] = ""
    os.environ["VAR_DIR"] = str(folder)
    import django

    from tests.migrated import copy_migrated

    copy_migrated(folder)
    django.setup()
    from analysis.data.dataset import load_dataset
    from analysis.report.build import build_report
    from analysis.report.report_json import to_json
    from tests.analysis.builders import random_study

    for seed, options in enumerate(STUDIES):
        study = random_study(seed, **options | {"runs": RUNS[options["runs"]]})
        _details(study, np.random.default_rng(seed))
        report = build_report(load_dataset(study.slug), seed=seed, bootstrap=100)
        (folder / f"{seed}.json").write_text(to_json(report), "utf-8")


def _details(study: Any, rng: np.random.Generator) -> None:
    """Probabilities and verdicts by criterion of every second judgment."""
    from judging.models import Judgment

    study.criteria = [{"key": key, "name": key} for key in ("tone", "content")]
    study.save(update_fields=["criteria"])
    for judgment in Judgment.objects.filter(run__study=study, state="done").order_by("pk")[::2]:
        share = rng.random()
        judgment.probabilities = {"r1": share, "r2": 1 - share}
        judgment.details = {"criteria": {"tone": NO_TIES[rng.integers(2)], "content": "r1"}}
        judgment.save(update_fields=["probabilities", "details"])


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """The paths whose values differ, with both."""
    if path in NOT_COMPARED:
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            where = f"{path}.{key}" if path else key
            if key in one and key in other:
                yield from differences(one[key], other[key], where)
            else:
                yield f"{where} is {'gone' if key in one else 'new'}"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = zip(_ordered(one, path), _ordered(other, path), strict=True)
        for place, (first, second) in enumerate(pairs):
            yield from differences(first, second, f"{path}.{place}")
    elif isinstance(one, float) and isinstance(other, float):
        if abs(one - other) > SAME * max(1.0, abs(one)):
            yield f"{path}: {one} and {other}"
    elif one != other:
        yield f"{path}: {str(one)[:80]} and {str(other)[:80]}"


def _ordered(entries: list[Any], path: str) -> list[Any]:
    key = next((key for key in BY_KEY if entries and _has(entries[0], key)), None)
    if key is not None:
        return sorted(entries, key=lambda entry: str(entry[key]))
    return sorted(entries) if path.rpartition(".")[2] in NAMES else entries


def _has(entry: Any, key: str) -> bool:
    return isinstance(entry, dict) and key in entry


def count(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(count, inner)) if isinstance(value, dict | list) else 1


def main(other: Path) -> int:
    found = 0
    with tempfile.TemporaryDirectory() as made:
        folders = [Path(made, name) for name in ("one", "other")]
        for folder, checkout in zip(folders, (other, ROOT), strict=True):
            folder.mkdir()
            command = [sys.executable, "-P", __file__, "--write", str(folder)]
            environment = {**os.environ, "PYTHONPATH": str(checkout)}
            subprocess.run(command, cwd=checkout, env=environment, check=True)  # noqa: S603
        for seed in range(len(STUDIES)):
            one, two = (json.loads((each / f"{seed}.json").read_text()) for each in folders)
            lines = list(differences(one, two))
            found += len(lines)
            sys.stdout.write(f"study {seed}: {count(one):,} values, {len(lines)} differ\n")
            sys.stdout.writelines(f"  {line}\n" for line in lines[:40])
    return int(found > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]))
    else:
        sys.exit(main(Path(sys.argv[1]).resolve()))
