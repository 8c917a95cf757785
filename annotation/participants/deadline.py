"""The end of an annotator's time, and when to warn them of it."""

import datetime as dt
import math
from typing import Any

from annotation.models import Annotator
from annotation.seats.flow import ACTIVE, warning_time
from annotation.services.extension import extensions_left
from studies.statements import clock


class Deadline:
    """The data of the time notice on every page; read when the page shows it."""

    def __init__(self, annotator: Annotator, expires_at: dt.datetime) -> None:
        self.annotator = annotator
        self.expires_at = expires_at
        self.warns_at = expires_at - warning_time(annotator.study)

    @property
    def is_near(self) -> bool:
        return clock.now() >= self.warns_at

    @property
    def warns_in(self) -> int:
        """Seconds from now, because no device's clock can be trusted; 0 when the warning is due."""
        return max(0, math.ceil((self.warns_at - clock.now()).total_seconds()))

    @property
    def clock(self) -> str:
        return f"{self.expires_at.astimezone(dt.UTC):%H:%M}"

    @property
    def iso(self) -> str:
        return self.expires_at.astimezone(dt.UTC).isoformat()

    @property
    def may_extend(self) -> bool:
        """Whether the annotator may ask for more time; far from the limit nothing is read."""
        return not self.is_near or extensions_left(self.annotator) > 0

    def as_json(self) -> dict[str, Any]:
        return {"ends": self.iso, "warns_in": self.warns_in}


def deadline_of(annotator: Annotator) -> Deadline | None:
    """The annotator's deadline; None when their part is over or has no limit."""
    if annotator.state not in ACTIVE or annotator.expires_at is None:
        return None
    return Deadline(annotator, annotator.expires_at)
