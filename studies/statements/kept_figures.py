"""Figures that count a whole study; those of a large study are not counted again for every page."""

import hashlib
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

# Counting this many rows takes a few milliseconds.
LARGE = 20_000
SECONDS = 5

Figures = TypeVar("Figures")


def kept(
    name: str,
    *key: object,
    count: Callable[[], Figures],
    rows: Callable[[Figures], int],
    seconds: int = SECONDS,
) -> Figures:
    """What `count` returns; up to five `seconds` old if it counted more than `LARGE` `rows`.

    `name` and `key` say what is counted. Pages that refresh themselves, and several people who look
    at the same page, then share one count.
    """
    address = f"kept-{hashlib.sha256(repr((name, key)).encode()).hexdigest()}"
    found: Figures | None = cache.get(address)
    if found is None:
        found = count()
        if rows(found) > LARGE:
            cache.set(address, found, seconds)
    return found
