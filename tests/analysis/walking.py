"""Every interval of a report.json, with the estimate it belongs to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SLACK = 1e-12  # rounding alone, as of (a - b) + b


@dataclass(frozen=True)
class Found:
    """An interval, where it lies in the report, and its estimate (None where none is named)."""

    path: str
    low: float
    high: float
    estimate: float | None

    @property
    def fault(self) -> str:
        """What no interval may be; empty where all is well."""
        if self.estimate is None:
            return "has no estimate that the walk knows"
        if not self.low <= self.high:
            return "is upside down"
        if self.high - self.low < 1e-9:
            return "has no width"
        if not self.low - SLACK <= self.estimate <= self.high + SLACK:
            return "excludes its own estimate"
        return ""


# Keys of the estimate where they are not the key of the interval without `_ci`.
PLAIN = (
    "value",
    "accuracy",
    "difference",
    "kappa",
    "advantage_of_people",
    "accuracy_lost",
    "mean",
    "excess",
)
NAMED = {
    "agreement_ci": "agreement_with_majority",
    "agreement_as_best_ci": "agreement_with_majority",
    "percent_general_ci": "percent",
    "spearman_general_ci": "spearman",
    "band": "accuracy",
    "ci_as_best": "value",
    "equivalence_ci": "value",
    "pairs_ci": "value",
    "pigeonhole_ci": "accuracy",
    "wald_ci": "value",
}


def intervals(report: dict[str, Any]) -> Iterator[Found]:
    """Walk the whole report: everything that says how it was made, and the bare `ends`."""
    yield from _walk(report, "", ())


def faults(report: dict[str, Any]) -> list[str]:
    return [
        f"{found.path} [{found.low:.6g}, {found.high:.6g}] of {found.estimate} {found.fault}"
        for found in intervals(report)
        if found.fault
    ]


def _walk(node: Any, path: str, above: tuple[dict[str, Any], ...]) -> Iterator[Found]:
    if isinstance(node, list):
        for number, child in enumerate(node):
            yield from _walk(child, f"{path}[{number}]", above)
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        where = f"{path}.{key}"
        if value is not None and (
            f"{key}_made" in node or (key == "ends" and isinstance(value, list))
        ):
            yield Found(where, value[0], value[1], _estimate(key, node, path, above))
        else:
            yield from _walk(value, where, (node, *above))


def _estimate(
    key: str, node: dict[str, Any], path: str, above: tuple[dict[str, Any], ...]
) -> float | None:
    if key == "ends":
        return node["correct"] / node["n"]
    if path.endswith(".clusters"):
        return above[0]["accuracy"]
    if path.endswith(".difference_general") and "value" not in node:
        return above[0]["difference"]["value"]
    if key in NAMED:
        return node[NAMED[key]]
    if key == "ci":
        return next((node[name] for name in PLAIN if node.get(name) is not None), None)
    return node.get(key.removesuffix("_ci"))
