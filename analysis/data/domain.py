"""What the items of a study are like, and whether other items differ from them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.data.arrays import Dataset, ItemData

# At most this often do the tests of one comparison together report a shift of like items.
LEVEL = 0.01
# A smaller difference is no reason to refuse, even if it is significant.
SMALLEST = 0.1
_KEPT = 500
_NAMES = {"question": "length of the question", "responses": "length of the responses"}


@dataclass(frozen=True)
class Shift:
    """Shift of a feature between certified items and others.

    `distance` is the largest difference of the two distribution functions, or half the sum of the
    differences of the shares. `has_moved` if it is not small and the test rejects at its share of
    the level.
    """

    feature: str
    distance: float
    p: float
    has_moved: bool


def shifts(
    lengths: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    topics: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    *,
    level: float = LEVEL,
    smallest: float = SMALLEST,
) -> list[Shift]:
    """Compare features of certified items with those of other items."""
    measured: list[tuple[str, float, float]] = []
    for name, (before, after) in lengths.items():
        one, two = np.asarray(before, np.float64), np.asarray(after, np.float64)
        if one.size and two.size:
            test = stats.ks_2samp(one, two, method="asymp")
            measured.append((name, float(test.statistic), float(test.pvalue)))
    for name, (known, others) in topics.items():
        if known and others:
            measured.append((name, *_homogeneity(known, others)))
    return [
        Shift(name, distance, p, bool(p < level / len(measured) and distance >= smallest))
        for name, distance, p in measured
    ]


def _homogeneity(known: Sequence[str], others: Sequence[str]) -> tuple[float, float]:
    """Half the sum of the differences of the shares, and the p value of homogeneity."""
    names = sorted({*known, *others})
    if len(names) == 1:
        return 0.0, 1.0
    code = {name: index for index, name in enumerate(names)}
    counts = np.array(
        [np.bincount([code[v] for v in side], minlength=len(names)) for side in (known, others)]
    )
    share = counts / counts.sum(axis=1, keepdims=True)
    distance = float(np.abs(share[0] - share[1]).sum() / 2)
    return distance, float(stats.chi2_contingency(counts, correction=False).pvalue)


def domain_of(data: Dataset) -> dict[str, Any]:
    """The items of a study as a passport describes them."""
    return {
        "task": data.study.task,
        "language": data.study.language,
        "items": len(data.items),
        "topics": dict(sorted(Counter(item.topic for item in data.items).items())),
        "lengths": {name: _quantiles(values) for name, values in _lengths(data.items).items()},
    }


def moved(domain: Mapping[str, Any], data: Dataset) -> list[str]:
    """Sentences on how a study's items differ from the certified ones; empty if they do not.

    Task and language must be equal. Lengths are compared by the Kolmogorov-Smirnov test and topics
    by the chi-squared test, together at the level 0.01. A significant difference counts if its
    distance is at least 0.1.
    """
    now = domain_of(data)
    changes = [
        f"The {name} was “{domain[name]}” and is “{now[name]}”."
        for name in ("task", "language")
        if domain[name] != now[name]
    ]
    lengths = {_NAMES[name]: (domain["lengths"][name], now["lengths"][name]) for name in _NAMES}
    topics = (_expanded(domain["topics"]), _expanded(now["topics"]))
    for shift in shifts(lengths, {"topics": topics}):
        if shift.has_moved:
            changes.append(
                f"The items have moved: {shift.feature} (distance {shift.distance:.2f}, p = "
                f"{shift.p:.2g}; limit: distance {SMALLEST} with p below {LEVEL} over all "
                "features)."
            )
    return changes


def _lengths(items: Sequence[ItemData]) -> dict[str, list[int]]:
    return {
        "question": [len(item.question) for item in items],
        "responses": [sum(item.lengths) for item in items],
    }


def _quantiles(values: npt.ArrayLike) -> list[int]:
    """The sorted values, thinned to 500 evenly spaced ones."""
    ordered = np.sort(np.asarray(values, dtype=np.int64))
    if ordered.size > _KEPT:
        ordered = ordered[np.linspace(0, ordered.size - 1, _KEPT).round().astype(np.int64)]
    return [int(value) for value in ordered]


def _expanded(counts: Mapping[str, int]) -> list[str]:
    return [topic for topic, n in counts.items() for _ in range(n)]
