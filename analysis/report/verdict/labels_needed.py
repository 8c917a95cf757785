"""About how many more labels of people would settle the comparison."""

import math
from collections.abc import Mapping
from typing import Any

from analysis.report.rules import MIN_COMPARED
from analysis.report.verdict.answer import headline_run
from analysis.report.verdict.replacement import replacement_of
from analysis.report.verdict.settling import rounded, times_more
from analysis.stats.comparison.replacement import FEWEST_OF_A_LABEL
from analysis.stats.core.shared_variance import (
    ANNOTATORS_PER_ANSWER,
    FEW_CLUSTERS,
    FEWEST_ANNOTATORS,
)

SETTLED = {"better", "worse", "equivalent"}


def labels_needed(report: Mapping[str, Any]) -> int | None:
    """The labels of people that a verdict still needs; 0 if it is settled, None if unknown.

    It is as rough as the advice on the first screen, from which it follows: the difference seen is
    taken to be the true one, and items, people, personas and questions to grow together.
    """
    state = report["headline"]["state"]
    if state in SETTLED:
        return 0
    if state == "no_truth":
        return _until_replaceable(report)
    if state == "judges_only":
        return MIN_COMPARED
    if state not in {"too_few", "cannot_tell"}:
        return None
    labels = report["human"]["answers"]
    difference = report["comparison"][headline_run(report)]["difference_general"]
    if state == "too_few":
        per_item = max(1, math.ceil(labels / report["inputs"]["items"]))
        return (MIN_COMPARED - difference["n"]) * per_item
    if difference["too_few"]:
        return _until_enough(report, difference)
    return _more(labels, times_more(difference)[0])


def _until_replaceable(report: Mapping[str, Any]) -> int | None:
    found = replacement_of(report)
    if found is None:
        # Without a second label of an item, nobody knows how well people agree.
        return MIN_COMPARED if report["human"]["answers"] and report["judges"] else None
    if found.state != "cannot_tell":
        return 0
    labels, rarest = report["human"]["answers"], found.found.get("rarest")
    if found.why == "rare_label":
        return _more(labels, FEWEST_OF_A_LABEL / rarest) if rarest else None
    if found.why == "clusters":
        return _until_enough(report, found.found)
    if found.why:
        return None
    return _more(report["human"]["answers"], found.times_more())


def _until_enough(report: Mapping[str, Any], found: Mapping[str, Any]) -> int | None:
    """Labels until there are enough people, personas and questions, at equal loads."""
    if not found.get("too_few"):
        return None
    labels = report["human"]["answers"]
    per_item = labels / report["inputs"]["items"]
    wanted = {"people": max(FEWEST_ANNOTATORS, ANNOTATORS_PER_ANSWER * per_item)}
    present = dict(found["clusters"])
    if effective := found.get("people_effective"):
        present["people"] = min(effective, present["people"])
    factor = max(wanted.get(kind, FEW_CLUSTERS) / present[kind] for kind in found["too_few"])
    return _more(labels, factor) or None


def _more(labels: int, factor: float) -> int | None:
    return None if math.isinf(factor) else rounded(labels * max(factor - 1, 0))
