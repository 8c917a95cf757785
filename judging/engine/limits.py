"""The limits of an endpoint, and the reports and grants of processes that share the endpoint."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

BURST_SECONDS = 3.0  # the share of a minute's rate that can be used at once


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
    """The limits that satisfy all of several; the longest patience decides when to give up."""
    limits = list(several)
    return RateLimits(
        concurrency=min(each.concurrency for each in limits),
        rpm=min((each.rpm for each in limits if each.rpm), default=None),
        tpm=min((each.tpm for each in limits if each.tpm), default=None),
        patience=max(each.patience for each in limits),
        first=min((each.first for each in limits if each.first), default=None),
        slow_after=min(each.slow_after for each in limits),
        is_adaptive=all(each.is_adaptive for each in limits),
    )


@dataclass(frozen=True, slots=True)
class LimitReport:
    """What a process holds, wants, and has learned since its last report."""

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
    """What a process may do until its next report; `cuts` counts those of all since the start."""

    slots: int
    requests: float
    tokens: float
    pause: float
    cuts: int
