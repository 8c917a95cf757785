"""The limits of an endpoint, and whether answers slow down with more concurrent requests.

The mean time of a round of answers is compared with the usual time, that of quick rounds. A round
has as many answers as there are slots, to show the effect of their number; single answers vary too
much with reply length. Slow rounds change the usual time only at the minimum of slots: with more,
the slots themselves may be the cause.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

BURST_SECONDS = 3.0  # share of a minute's rate that can be used in a burst


@dataclass(frozen=True)
class RateLimits:
    """The limits of an endpoint; `first` is the number of slots before the first answer.

    If `first` is None, all slots are used. Answers that take longer than `slow_after` seconds add
    no slots. With `is_adaptive`, slots grow only as long as answers do not get slower, and shrink
    if they do.
    """

    concurrency: int = 16
    rpm: int | None = None
    tpm: int | None = None
    patience: float = 120.0
    first: int | None = None
    slow_after: float = math.inf
    is_adaptive: bool = False


def tightest_of(several: Iterable[RateLimits]) -> RateLimits:
    """The limits that satisfy all of several, with the longest patience."""
    limits = list(several)
    return RateLimits(
        concurrency=min(one.concurrency for one in limits),
        rpm=min((one.rpm for one in limits if one.rpm), default=None),
        tpm=min((one.tpm for one in limits if one.tpm), default=None),
        patience=max(one.patience for one in limits),
        first=min((one.first for one in limits if one.first), default=None),
        slow_after=min(one.slow_after for one in limits),
        is_adaptive=all(one.is_adaptive for one in limits),
    )


@dataclass(frozen=True, slots=True)
class LimitReport:
    """A process's report: what it holds, wants, and has learned since the last one."""

    limits: RateLimits
    held: int  # slots that it works with, or has not received back yet
    wanted: int  # slots that it could fill
    requests: float  # wanted beyond what was granted and not used yet
    tokens: float
    first_tokens: float  # of the request that is next
    pause: float | None  # seconds for all; None: the endpoint was given up, forget pauses
    has_cut: bool


@dataclass(frozen=True, slots=True)
class Grant:
    """What a process may do until its next report; `cuts` counts all cuts since the start."""

    slots: int
    requests: float
    tokens: float
    pause: float
    cuts: int


SHORTEST_ROUND = 32  # answers
_SLACK = 0.02  # seconds: a local server's times are all noise below that
_STEADY, _SLOWER = 1.25, 1.5  # of the usual time
_LEARNING = 0.5  # of the difference to a round: the quickest of many is quick by chance


class Trend(Enum):
    STEADY = "steady"  # more slots cost nothing
    UNCLEAR = "unclear"
    SLOWER = "slower"  # requests wait for each other


class ResponseTimes:
    def __init__(self) -> None:
        self._usual: float | None = None
        self._sum, self._count, self._round = 0.0, 0, SHORTEST_ROUND
        self.trend = Trend.STEADY

    def add(self, seconds: float, slots: int, *, is_fewest: bool) -> bool:
        """Add an answer; return whether it ended a round and so updated `trend`."""
        if not self._count:
            self._round = max(SHORTEST_ROUND, slots)
        self._sum += seconds
        self._count += 1
        if self._count < self._round:
            return False
        mean, self._sum, self._count = self._sum / self._count, 0.0, 0
        if self._usual is None:
            self._usual = mean
        elif is_fewest or mean < self._usual:
            self._usual += _LEARNING * (mean - self._usual)
        if mean <= self._usual * _STEADY + _SLACK:
            self.trend = Trend.STEADY
        else:
            is_slower = mean > self._usual * _SLOWER + _SLACK
            self.trend = Trend.SLOWER if is_slower else Trend.UNCLEAR
        return True

    def start_round(self) -> None:
        """Discard the answers so far, because the number of slots has changed."""
        self._sum, self._count = 0.0, 0
