"""Of a whole report: how every interval was made, and responses under each other's names."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.report_json import to_json
from tests.analysis.builders import random_study

pytestmark = pytest.mark.django_db


def built(study: Any, **options: Any) -> dict[str, Any]:
    data = load_dataset(study.slug)
    report = build_report(data, **{"seed": 1, "bootstrap": 100} | options)
    return json.loads(to_json(report))


def intervals(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Paths of all intervals, and what stands beside them about how they were made."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if inner is not None and (key in {"ci", "band"} or key.endswith("_ci")):
                yield f"{path}.{key}", value.get(f"{key}_made", {})
            yield from intervals(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from intervals(inner, f"{path}[{number}]")


@pytest.mark.nightly
def test_every_interval_says_how_it_was_made():
    report = built(random_study(3, n_items=90, n_raters=12, truths=("r1", "r2", "r1", "r2", "")))

    found = list(intervals(report))

    assert len(found) > 200
    assert [path for path, how in found if not {"method", "level", "n_items"} <= how.keys()] == []
    resampled = [how for _, how in found if "bootstrap" in how["method"]]
    assert resampled
    assert all({"seed", "draws"} <= how.keys() for how in resampled)


@pytest.mark.nightly
def test_naming_the_responses_the_other_way_round_changes_no_statistic():
    truths = ("r1", "r2", "r1", "")

    report, mirrored = (
        built(random_study(4, n_items=60, truths=truths, mirrored=flag)) for flag in (False, True)
    )

    assert [row["truth"] for row in report["items"]] != [row["truth"] for row in mirrored["items"]]
    for version in (report, mirrored):
        for key in ("inputs", "items", "study"):
            version.pop(key)
        without_chance(version)
    assert_equal(report, mirrored)


def without_chance(value: Any) -> None:
    """Drop what is drawn at random (other codes draw other samples) and the names of runs."""
    if isinstance(value, dict):
        drawn = [key for key, how in value.items() if key.endswith("_made") and "draws" in how]
        by_chance = "seed" in str(value.get("rule"))
        for key in (
            *(key.removesuffix("_made") for key in drawn),
            *(("correct", "accuracy", "ci") if by_chance else ()),
            "bootstrap",
            "claims_tested",  # by random changes of sign
            "like_for_like",
            "held_out",  # halves by the persona's key, which each study gives anew
            "run",
        ):
            value.pop(key, None)
        for inner in value.values():
            without_chance(inner)
    elif isinstance(value, list):
        for inner in value:
            without_chance(inner)


def assert_equal(one: Any, two: Any, path: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == two.keys(), path
        for key in one:
            assert_equal(one[key], two[key], f"{path}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(two), path
        for number, (a, b) in enumerate(zip(one, two, strict=True)):
            assert_equal(a, b, f"{path}[{number}]")
    elif isinstance(one, float) and isinstance(two, float):
        assert math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-12), path
    else:
        assert one == two, path
