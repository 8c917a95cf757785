"""The runs that compete for being the best, which are corrected for one another."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Dataset
from analysis.report.rules import MIN_COMPARED

Entry = Mapping[str, Any]


# A run competes if it has answered this share of the items that a run like it has.
ENOUGH_ITEMS = 0.9


def is_whole(judges: Sequence[Entry]) -> list[bool]:
    """Whether each run has answered the items that the others with the same features have.

    A try-out with few items is no rival of whole runs, however often it was right on them.
    """
    answered = [judge["items"] - judge["excluded"]["open"] for judge in judges]
    most: dict[str, int] = {}
    for judge, n in zip(judges, answered, strict=True):
        most[judge["features"]] = max(n, most.get(judge["features"], 0))
    pairs = zip(judges, answered, strict=True)
    return [n >= ENOUGH_ITEMS * most[judge["features"]] for judge, n in pairs]


def competitors(judges: Sequence[Entry]) -> list[int]:
    """Positions of the scored runs that saw the whole persona; if none did, of all scored runs.

    Runs with too few items do not compete, unless a plan names them.
    """
    scored = [
        index
        for index, judge in enumerate(judges)
        if judge["accuracy"] is not None and judge.get("competes", True)
    ]
    return [index for index in scored if judges[index]["features"] == "all"] or scored


def asked_of_all(data: Dataset, family: Sequence[int]) -> npt.NDArray[np.bool_] | None:
    """The items that all runs of a family were asked, where these differ and are enough.

    Runs that were asked different items are compared on these, so that no run is the best because
    its items were easier.
    """
    asked = np.zeros((len(family), len(data.items)), dtype=np.bool_)
    for row, index in enumerate(family):
        rows = data.runs[index].judgments
        asked[row, rows.item[rows.status != "open"]] = True
    everybody: npt.NDArray[np.bool_] = np.asarray(asked.all(axis=0))
    if everybody.sum() < MIN_COMPARED or (asked == everybody).all():
        return None
    return everybody


def best_run(judges: Sequence[Entry]) -> int | None:
    """The competitor with the largest share of correct answers among the items it was asked.

    Only items that can be scored count, and of runs that were asked different items only those that
    all were asked. Undecided items count against a run, so that deciding only the easy ones does
    not help.
    """

    def right_share(index: int) -> tuple[float, int]:
        judge = judges[index]
        if found := judge.get("asked_of_all"):
            return found["correct"] / max(1, found["items"]), -index
        return judge["correct"] / (judge["items"] - judge["excluded"]["no_truth"]), -index

    return max(competitors(judges), key=right_share, default=None)


def families(judges: Sequence[Entry]) -> list[list[int]]:
    """Split all runs into families: competing runs, and other runs with equal features."""
    first = competitors(judges)
    found = [first] if first else []
    rest = [index for index in range(len(judges)) if index not in first]
    for features in dict.fromkeys(judges[index]["features"] for index in rest):
        found.append([index for index in rest if judges[index]["features"] == features])
    return found
