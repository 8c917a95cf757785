"""Numbers of a report beside the same by plain Python."""

import math
from collections.abc import Iterator
from typing import Any


def same(ours, theirs):
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)


def pair(cell):
    return cell["n"], cell["correct"]


def ends(interval):
    return interval.low, interval.high


def close(found, expected):
    return all(math.isclose(*pair, abs_tol=1e-6) for pair in zip(found, expected, strict=True))


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


def assert_cell(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    for part in (None, "high", "low"):
        mine, reference = (ours, theirs) if part is None else (ours[part], theirs[part])
        assert (mine["n"], mine["correct"]) == (reference["n"], reference["correct"]), part
        assert same(mine["accuracy"], reference["accuracy"]), part
    assert ours["no_certainty"] == theirs["no_certainty"]
    compat, reference = ours["paper_compat"]["low"], theirs["paper_compat"]["low"]
    assert (compat["n"], compat["correct"]) == (reference["n"], reference["correct"])


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
    if expected["certainty"] is not None:
        for key in ("spearman", "human_mean", "model_mean"):
            assert same(versus["certainty"][key], expected["certainty"][key]), key
