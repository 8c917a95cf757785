"""Figures that count a whole study, cached for large studies."""

import hashlib
import time
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

# Counting this many rows takes a few milliseconds.
LARGE = 20_000
SECONDS = 5
# Counting a million items takes a second. Counting may take a fiftieth of the time.
TIMES_AS_LONG, MOST_SECONDS = 50, 60

Figures = TypeVar("Figures")


def kept(
    name: str,
    *key: object,
    count: Callable[[], Figures],
    rows: Callable[[Figures], int],
    seconds: int = 0,
) -> Figures:
    """What `count` returns; up to `seconds` old (0: `SECONDS`) if it counted over `LARGE` `rows`.

    `name` and `key` say what is counted. Refreshing pages and several viewers of a page share one
    count. A slow count is kept longer, up to a minute.
    """
    address = f"kept-{hashlib.sha256(repr((name, key)).encode()).hexdigest()}"
    figures: Figures | None = cache.get(address)
    if figures is None:
        started = time.monotonic()
        figures = count()
        if rows(figures) > LARGE:
            took = time.monotonic() - started
            longer = min(MOST_SECONDS, TIMES_AS_LONG * took)
            cache.set(address, figures, max(seconds or SECONDS, longer))
    return figures
