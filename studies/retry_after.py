"""The header Retry-After, for every client of this program. Pure: no Django."""

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_to_wait(value: str | None) -> float | None:
    """Seconds from a header with a number or a date; None for anything else."""
    try:
        seconds = float(value or "")
        return seconds if 0 <= seconds < math.inf else None
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
