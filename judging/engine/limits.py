"""The limits of an endpoint, and the reports and grants of processes that share the endpoint."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

BURST_SECONDS = 3.0  # so much of a minute's rate may be used at once


@dataclass(frozen=True)
class Limits:
    """`first` is how many slots there are before anything was answered: all where it is None.

    Answers that take longer than `slow_after` seconds win no more of them.
    """

    concurrency: int = 16
    rpm: int | None = None
    tpm: int | None = None
    patience: float = 120.0
    first: int | None = None
    slow_after: float = math.inf


def tightest_of(several: Iterable[Limits]) -> Limits:
    """What keeps all of several limits; the most patient one says when to give up."""
    limits = list(several)
    return Limits(
        concurrency=min(each.concurrency for each in limits),
        rpm=min((each.rpm for each in limits if each.rpm), default=None),
        tpm=min((each.tpm for each in limits if each.tpm), default=None),
        patience=max(each.patience for each in limits),
        first=min((each.first for each in limits if each.first), default=None),
        slow_after=min(each.slow_after for each in limits),
    )


@dataclass(frozen=True, slots=True)
class Report:
    """What a process has, wants, and has found out since its last report."""

    limits: Limits
    held: int  # slots that it works with, or has not got back yet
    wanted: int  # slots that it could fill
    requests: float  # wanted beyond what was granted and not used yet
    tokens: float
    first_tokens: float  # of the request that is next
    pause: float | None  # seconds for everybody; None: the endpoint was given up, forget pauses
    has_cut: bool


@dataclass(frozen=True, slots=True)
class Grant:
    """What a process may do until its next report; `cuts` counts everybody's since the start."""

    slots: int
    requests: float
    tokens: float
    pause: float
    cuts: int
