"""Features of items, and whether those of other items are like the certified ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Dataset, Item
from analysis.stats.selection.domain import LEVEL, SMALLEST, shifts

_KEPT = 500
_NAMES = {"question": "length of the question", "responses": "length of the responses"}


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
    """Sentences on how the items of a study differ from the certified ones; none if they do not.

    Task and language have to be equal. Lengths are compared by the Kolmogorov-Smirnov test and
    topics by the chi-squared test, together at the level 0.01. A significant difference counts
    from a distance of 0.1.
    """
    now = domain_of(data)
    found = [
        f"The {name} was “{domain[name]}” and is “{now[name]}”."
        for name in ("task", "language")
        if domain[name] != now[name]
    ]
    lengths = {_NAMES[name]: (domain["lengths"][name], now["lengths"][name]) for name in _NAMES}
    topics = (_expanded(domain["topics"]), _expanded(now["topics"]))
    for shift in shifts(lengths, {"topics": topics}):
        if shift.has_moved:
            found.append(
                f"The items have moved: {shift.feature} (distance {shift.distance:.2f}, "
                f"p = {shift.p:.2g}; moved from a distance of {SMALLEST} at p below "
                f"{LEVEL} over all features)."
            )
    return found


def _lengths(items: Sequence[Item]) -> dict[str, list[int]]:
    return {
        "question": [len(item.question) for item in items],
        "responses": [sum(item.lengths) for item in items],
    }


def _quantiles(values: npt.ArrayLike) -> list[int]:
    """The values in order, or 500 evenly spaced ones of them."""
    ordered = np.sort(np.asarray(values, dtype=np.int64))
    if ordered.size > _KEPT:
        ordered = ordered[np.linspace(0, ordered.size - 1, _KEPT).round().astype(np.int64)]
    return [int(value) for value in ordered]


def _expanded(counts: Mapping[str, int]) -> list[str]:
    return [topic for topic, n in counts.items() for _ in range(n)]
