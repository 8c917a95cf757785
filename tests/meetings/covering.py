"""Few combinations of many choices in which every pair of values occurs."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, product

Row = dict[str, str]
Pair = tuple[tuple[str, str], tuple[str, str]]
_TRIES = 30


def covering(
    factors: Mapping[str, Sequence[str]],
    may: Callable[[Row], bool],
    *,
    first: Iterable[Row] = (),
    seed: int = 1,
) -> list[Row]:
    """Rows in which every pair of values occurs that some row may have; the same ones each time.

    `first` holds parts of rows, each of which is completed before others are added. `may` gets
    parts of rows too, and refuses what no study can be.
    """
    rng = random.Random(seed)
    missing = set(_possible(factors, may))
    rows: list[Row] = []
    for part in first:
        if may(part) and (row := _best(factors, may, missing, part, rng)):
            rows.append(row)
            missing -= set(pairs_of(row))
    while missing:
        pair = min(missing)
        # A pair that no whole row can have would be tried for ever.
        missing.discard(pair)
        if row := _best(factors, may, missing, dict(pair), rng):
            rows.append(row)
            missing -= set(pairs_of(row))
    return rows


def _possible(factors: Mapping[str, Sequence[str]], may: Callable[[Row], bool]) -> Iterable[Pair]:
    for a, b in combinations(sorted(factors), 2):
        for pair in product(((a, value) for value in factors[a]), ((b, v) for v in factors[b])):
            if may(dict(pair)):
                yield pair


def pairs_of(row: Row) -> Iterable[Pair]:
    return combinations(sorted(row.items()), 2)


def _best(
    factors: Mapping[str, Sequence[str]],
    may: Callable[[Row], bool],
    missing: set[Pair],
    part: Row,
    rng: random.Random,
) -> Row | None:
    """The one of some completed rows that has most of the missing pairs; None without any."""
    tries = [row for _ in range(_TRIES) if (row := _completed(factors, may, part, rng))]
    return max(tries, key=lambda row: sum(pair in missing for pair in pairs_of(row)), default=None)


def _completed(
    factors: Mapping[str, Sequence[str]],
    may: Callable[[Row], bool],
    part: Row,
    rng: random.Random,
) -> Row | None:
    row = dict(part)
    for name in sorted(factors, key=lambda _: rng.random()):
        if name in row:
            continue
        values = []
        for value in factors[name]:
            row[name] = value
            if may(row):
                values.append(value)
        if not values:
            return None
        row[name] = rng.choice(values)
    return row
