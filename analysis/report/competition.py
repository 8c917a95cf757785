"""The runs that compete for being the best, which are corrected for one another."""

from collections.abc import Mapping, Sequence
from typing import Any

Entry = Mapping[str, Any]


def competitors(judges: Sequence[Entry]) -> list[int]:
    """Positions of the scored runs that saw the whole persona; if none did, of all scored runs."""
    scored = [index for index, judge in enumerate(judges) if judge["accuracy"] is not None]
    return [index for index in scored if judges[index]["features"] == "all"] or scored


def best_run(judges: Sequence[Entry]) -> int | None:
    """The competitor with the largest share of correct answers among the items it was asked.

    Only items that can be scored count. Undecided items count against a run, so that deciding only
    the easy ones does not help.
    """

    def right_share(index: int) -> tuple[float, int]:
        judge = judges[index]
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
