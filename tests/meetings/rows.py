"""What small studies can be, and which combinations of it are tried."""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import pytest

from tests.meetings.covering import Pair, Row, covering, pairs_of

FACTORS: dict[str, tuple[str, ...]] = {
    "entry": ("prolific", "link", "list", "file"),
    "perspective": ("persona", "own"),
    "tie": ("none", "difference", "either"),
    "certainty": ("slider", "number", "levels", "unasked"),
    "sets": ("two", "three_in_pairs", "three_whole"),
    "advice": ("no", "yes"),
    "quotas": ("no", "full", "unequal"),
    "leaving": ("nobody", "withdrawn", "excluded", "reopened", "returned", "rejected", "timed_out"),
    "answers": ("none", "some_items", "one_person", "full"),
    "truth": ("all", "some", "none"),
    "run": (
        "none",
        "part",
        "limit",
        "both_orders",
        "samples",
        "probe",
        "mitigation",
        "structured",
        "imported",
        "cancelled",
    ),
    "setting": ("standard", "certainty", "tie", "levels"),
    "probabilities": ("no", "yes", "only"),
    "personas": ("distinct", "repeated", "missing"),
    "language": ("en", "de", "ar"),
}


def may(row: Row) -> bool:
    """Whether a study can be so, as far as this part of a row says it."""
    # It is asked some 200,000 times before the first test.
    said = row.get
    run, sets = said("run"), said("sets")
    if said("perspective") == "own":
        # Answers for oneself are about no profile, and a judge has nobody to stand in for.
        if run not in (None, "none") or sets == "three_whole" or said("entry") == "file":
            return False
    if said("advice") == "yes" and sets not in (None, "two"):
        return False
    if said("entry") == "file":
        if said("quotas") not in (None, "no") or sets == "three_whole" or said("advice") == "yes":
            return False
        if said("leaving") not in (None, "nobody", "excluded"):
            return False
    if said("leaving") not in (None, "nobody") and said("answers") == "none":
        return False
    if said("tie") == "none" and said("setting") == "tie":
        return False
    if run == "none":
        is_usual = said("probabilities") in (None, "no")
        return said("setting") in (None, "certainty") and is_usual
    if said("probabilities") in ("yes", "only"):
        # One token of a reply is a letter; numbers have none.
        return run != "structured" and said("setting") != "levels"
    return run != "structured" or said("setting") != "levels"


@cache
def rows() -> list[Row]:
    """All rows: every run with every kind of answers and of truth, and every pair of the rest."""
    names = ("run", "answers", "truth")
    first = [
        dict(zip(names, values, strict=True))
        for values in product(*(FACTORS[name] for name in names))
    ]
    return covering(FACTORS, may, first=first)


def cases(config: pytest.Config, few: int, *, among: Callable[[Row], bool] = bool) -> list[Any]:
    """Rows as parameters of a test: the same few each time, with --all every one."""
    tried = [row for row in rows() if among(row)]
    chosen = tried if config.getoption("--all") else _most_pairs(tried, few)
    return [pytest.param(row, id=name_of(row)) for row in chosen]


def _most_pairs(left: list[Row], count: int) -> list[Row]:
    """Those rows that have most values, and then most pairs of values, between them."""
    chosen, values, pairs = list[Row](), set[tuple[str, str]](), set[Pair]()
    while left and len(chosen) < count:
        best = max(
            left, key=lambda row: (len(row.items() - values), len(set(pairs_of(row)) - pairs))
        )
        left.remove(best)
        chosen.append(best)
        values |= set(best.items())
        pairs |= set(pairs_of(best))
    return chosen


def name_of(row: Row) -> str:
    return "-".join(row[name] for name in FACTORS)


def usual(**changes: str) -> Row:
    """A common study: people by an open link, one judge, no rare design but `changes`."""
    row = {name: values[0] for name, values in FACTORS.items()}
    row |= {"entry": "link", "answers": "full", "run": "both_orders", "setting": "certainty"}
    row |= {"personas": "repeated", "language": "en"} | changes
    assert may(row), row
    return row
