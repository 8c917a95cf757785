"""report.json against the same numbers counted by hand, on studies where everything happens."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.report_json import to_json
from tests.analysis import brute_force
from tests.analysis.builders import random_study

pytestmark = pytest.mark.django_db

VARIANTS = {
    "plain": {"truths": ("r1", "r2")},
    "everything": {},
    "ties offered": {"allow_tie": True},
    "no truth": {"truths": ("",)},
    "single answers": {"per_item": (0, 1)},
    "even votes": {"per_item": (2, 4)},
    "many": {"n_items": 90, "n_raters": 12, "truths": ("r1", "r2", "r1", "r2", "")},
}


def built(study: Any, **options: Any) -> dict[str, Any]:
    data = load_dataset(study.slug)
    report = build_report(data, **{"seed": 1, "bootstrap": 100} | options)
    return json.loads(to_json(report))


def same(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)


def assert_cell(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    for part in (None, "high", "low"):
        mine, reference = (ours, theirs) if part is None else (ours[part], theirs[part])
        assert (mine["n"], mine["correct"]) == (reference["n"], reference["correct"]), part
        assert same(mine["accuracy"], reference["accuracy"]), part
    assert ours["no_certainty"] == theirs["no_certainty"]
    compat, reference = ours["paper_compat"]["low"], theirs["paper_compat"]["low"]
    assert (compat["n"], compat["correct"]) == (reference["n"], reference["correct"])


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_number_is_what_counting_by_hand_gives(variant, seed):
    study = random_study(seed, **VARIANTS[variant])

    report = built(study)

    expected = brute_force.report(study)
    assert_people(report["human"], expected)
    assert_agreement(report["human"]["agreement"], expected["agreement"])
    assert {judge["run"] for judge in report["judges"]} == set(expected["judges"])
    for judge, versus in zip(report["judges"], report["comparison"], strict=True):
        assert judge["run"] == versus["run"]
        assert_judge(judge, expected["judges"][judge["run"]])
        assert_comparison(versus, expected["judges"][judge["run"]])
    assert list(undefined(report)) == []


def assert_people(human: dict[str, Any], expected: dict[str, Any]) -> None:
    assert_cell(human["majority"], expected["majority"])
    assert human["majority"]["ties"] == expected["majority"]["ties"]
    assert_cell(human["individual"], expected["individual"])


def assert_agreement(ours: dict[str, Any], expected: dict[str, Any] | None) -> None:
    if expected is None:
        assert (ours["percent"], ours["percent_reason"]) == (None, "no_pairs")
        return
    assert same(ours["percent"], expected["percent"])
    assert same(ours["krippendorff_alpha"]["value"], expected["alpha"])
    assert same(ours["certainty_alpha"], expected["certainty_alpha"])
    assert same(ours["gwet_ac1"], expected["gwet_ac1"])
    sheets = ours["bootstrap"]
    if sheets["mean"] is not None:
        assert same(sheets["expected_mean"], expected["sheet_mean"])
        assert abs(sheets["mean"] - expected["sheet_mean"]) < 4 * sheets["sd"] / 100**0.5


def assert_judge(judge: dict[str, Any], expected: dict[str, Any]) -> None:
    assert_cell(judge, expected)
    excluded = {key: n for key, n in judge["excluded"].items() if n and key != "open"}
    assert excluded == expected["excluded"]
    assert judge["n"] + sum(judge["excluded"].values()) == judge["items"]
    assert same(judge["position"]["share_a"], expected["share_a"])
    for key, bound in zip(("low", "high"), expected["bounds"], strict=True):
        assert same(judge["bounds"][key], bound), key
    for key in ("ece", "brier", "auroc", "aurc"):
        theirs = expected["calibration"] and expected["calibration"][key]
        assert same(judge["calibration"][key], theirs), key


def assert_comparison(versus: dict[str, Any], expected: dict[str, Any]) -> None:
    reference, test = expected["comparison"], versus["mcnemar"]
    assert same(versus["agreement_with_majority"], reference["agreement"])
    assert same(versus["cohen_kappa"], reference["kappa"])
    assert (test["b"], test["c"], test["n"]) == tuple(reference[k] for k in ("b", "c", "n"))
    assert same(test["p"], reference["p"])
    assert same(versus["difference"]["value"], reference["difference"])
    assert same(versus["same_mistakes"]["kappa"], reference["same_mistakes"])
    if expected["certainty"] is not None:
        for key in ("spearman", "ks", "wasserstein"):
            assert same(versus["certainty"][key], expected["certainty"][key]), key


def undefined(value: Any, path: str = "") -> Iterator[str]:
    """Paths of nulls that have no reason beside them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            here = f"{path}.{key}"
            if key in {"parameters", "source"} and "record" in path + key + "study":
                continue
            if inner is None and not value.get(f"{key}_reason"):
                yield here
            yield from undefined(inner, here)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from undefined(inner, f"{path}[{number}]")


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


def test_every_interval_says_how_it_was_made():
    report = built(random_study(3, **VARIANTS["many"]))

    found = list(intervals(report))

    assert len(found) > 200
    assert [path for path, how in found if not {"method", "level", "n_items"} <= how.keys()] == []
    resampled = [how for _, how in found if "bootstrap" in how["method"]]
    assert resampled
    assert all({"seed", "draws"} <= how.keys() for how in resampled)


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
