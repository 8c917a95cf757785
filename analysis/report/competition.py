"""Which runs compete for being the best, and so are corrected for one another."""

from collections.abc import Mapping, Sequence
from typing import Any

Entry = Mapping[str, Any]


def competitors(judges: Sequence[Entry]) -> list[int]:
    """The scored runs that saw the whole persona; all scored runs, where none of them did."""
    scored = [index for index, judge in enumerate(judges) if judge["accuracy"] is not None]
    return [index for index in scored if judges[index]["features"] == "all"] or scored


def best_run(judges: Sequence[Entry]) -> int | None:
    """The competitor that was right on the largest share of what it was asked and can be scored.

    What a run left undecided counts against it here: deciding only the easy items is no merit.
    """

    def right_share(index: int) -> tuple[float, int]:
        judge = judges[index]
        return judge["correct"] / (judge["items"] - judge["excluded"]["no_truth"]), -index

    return max(competitors(judges), key=right_share, default=None)


def families(judges: Sequence[Entry]) -> list[list[int]]:
    """Every run in one family: those that compete, and of the others those with equal features."""
    first = competitors(judges)
    found = [first] if first else []
    rest = [index for index in range(len(judges)) if index not in first]
    for features in dict.fromkeys(judges[index]["features"] for index in rest):
        found.append([index for index in rest if judges[index]["features"] == features])
    return found
