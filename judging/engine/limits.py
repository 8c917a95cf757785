"""When the next request to an endpoint may leave: one limiter for everybody who asks it.

Three things hold a request back: the slots (a ceiling that shrinks when the server complains and
grows back while it answers), the rates (requests and tokens a minute), and a pause that is common
to all, because a server that turns one request away would turn away the next one too.

A server that brings nothing useful is tried ever more rarely, one request at a time, and given up
after `patience` seconds. All code runs on one event loop; there are no locks.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from judging.engine.protocol import Fault, Misconfigured, Outage, RateLimited, Rejected

CIRCUIT_FAILURES = 5  # failures in a row before only one request at a time is let through
FIRST_CONTACT_SECONDS = 30.0  # an endpoint that never answered is more likely wrong than down
FIRST_REJECTIONS = 10  # rejected in a row before anything was taken: the request is wrong
_LONGEST_PAUSE = 30.0
_GROWTH = 1.0  # slots won back by a full round of answers
_CUT = 0.5


@dataclass(frozen=True)
class Limits:
    concurrency: int = 16
    rpm: int | None = None
    tpm: int | None = None
    patience: float = 120.0


@dataclass(slots=True)
class Permit:
    """Leave to send one request; handed back with what became of it."""

    since: float
    epoch: int
    successes: int


class Bucket:
    """So much a minute, spaced evenly, with a burst of a few seconds' worth."""

    BURST_SECONDS = 3.0

    def __init__(self, per_minute: int) -> None:
        self._seconds_each = 60.0 / per_minute
        self._free_at = 0.0  # when everything taken so far would have flowed in evenly

    def wait(self, now: float) -> float:
        return max(0.0, self._free_at - self.BURST_SECONDS - now)

    def take(self, now: float, amount: float) -> None:
        self._free_at = max(self._free_at, now) + amount * self._seconds_each


class Limiter:
    def __init__(self, limits: Limits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: deque[tuple[asyncio.Future[Permit], int]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._in_flight = 0
        self._resume_at = 0.0
        self._last_cut = 0.0
        self._limited_in_a_row = 0
        self._failures = 0
        self._rejections = 0
        self._failing_since: float | None = None
        self._epoch = 0
        self.successes = 0
        self.set_limits(limits)

    def set_limits(self, limits: Limits) -> None:
        """Take the limits of the judge as they are now; what is in flight stays counted."""
        self.limits = limits
        self._window = float(limits.concurrency)
        self._requests = Bucket(limits.rpm) if limits.rpm else None
        self._tokens = Bucket(limits.tpm) if limits.tpm else None

    @property
    def slots(self) -> int:
        """How many requests may be in flight now."""
        return 1 if self._failures >= CIRCUIT_FAILURES else max(1, int(self._window))

    async def acquire(self, tokens: int = 0) -> Permit:
        """Wait for a slot, the rates and the common pause. Raises `Outage` when all hope is lost.

        `tokens` is what the request is expected to use up of the tokens a minute.
        """
        future: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, tokens))
        self._let_go()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.release(future.result())
            raise

    def release(self, permit: Permit) -> None:
        """Give the slot back; exactly once for every permit."""
        self._in_flight -= 1
        self._let_go()

    def succeeded(self, permit: Permit) -> None:
        self.successes += 1
        self._failures = self._limited_in_a_row = self._rejections = 0
        self._failing_since = None
        self._window = min(float(self.limits.concurrency), self._window + _GROWTH / self._window)

    def failed(self, permit: Permit, fault: Fault) -> None:
        """Slow down as the fault demands. Raises `Outage` when the endpoint is given up."""
        if permit.epoch != self._epoch:
            raise Outage(self._verdict(fault, 0.0))  # given up while this one was under way
        if isinstance(fault, Misconfigured):
            self._give_up(str(fault))
        if isinstance(fault, Rejected):
            self._rejections += 1
            if self._rejections >= FIRST_REJECTIONS and not self.successes:
                self._give_up(f"The server rejects every request: {fault}")
            return
        now = self._clock()
        if self._failing_since is None:
            self._failing_since = permit.since
        if isinstance(fault, RateLimited):
            self._slow_down(permit, fault, now)
        else:
            self._failures += 1
            if self._failures >= CIRCUIT_FAILURES:
                exponent = min(self._failures - CIRCUIT_FAILURES, 8)
                self._pause(now, min(_LONGEST_PAUSE / 2, 0.5 * 2**exponent))
        self._judge_outage(fault, now)

    def _slow_down(self, permit: Permit, fault: Fault, now: float) -> None:
        # What was sent before the last cut knew nothing of it: one wave of 429 cuts once.
        if permit.since >= self._last_cut:
            self._window = max(1.0, self._window * _CUT)
            self._last_cut = now
            self._limited_in_a_row += 1
        wait = fault.retry_after
        if wait is None:
            wait = min(_LONGEST_PAUSE, float(2 ** (self._limited_in_a_row - 1)))
        self._pause(now, wait)

    def _pause(self, now: float, seconds: float) -> None:
        self._resume_at = max(self._resume_at, now + seconds)

    def _judge_outage(self, fault: Fault, now: float) -> None:
        assert self._failing_since is not None  # noqa: S101
        patience = self.limits.patience
        if not self.successes and not isinstance(fault, RateLimited):
            patience = min(patience, FIRST_CONTACT_SECONDS)
        if max(now, self._resume_at) - self._failing_since > patience:
            self._give_up(self._verdict(fault, now - self._failing_since))

    def _verdict(self, fault: Fault, seconds: float) -> str:
        if fault.retry_after is not None and fault.retry_after > self.limits.patience:
            return (
                f"The server asks to wait {_seconds(fault.retry_after)}, longer than the "
                f"{self.limits.patience:.0f} that this judge waits. Continue the run later."
            )
        return (
            f"The server gave no usable answer for {_seconds(seconds)}; the last thing was: "
            f"{fault}. Check that it runs, then continue the run."
        )

    def _give_up(self, sentence: str) -> None:
        """Fail everybody who waits; a later run starts with fresh patience."""
        self._epoch += 1
        self._failures = self._limited_in_a_row = self._rejections = 0
        self._failing_since = None
        self._resume_at = 0.0
        self._window = float(self.limits.concurrency)
        waiting, self._waiting = self._waiting, deque()
        for future, _ in waiting:
            if not future.done():
                future.set_exception(Outage(sentence))
        raise Outage(sentence)

    def _let_go(self) -> None:
        """Let as many go as may; wake up by ourselves when only time holds the first one back."""
        while self._waiting and self._in_flight < self.slots:
            future, tokens = self._waiting[0]
            if future.done():  # its owner was cancelled
                self._waiting.popleft()
                continue
            now = self._clock()
            delay = max(
                self._resume_at - now,
                self._requests.wait(now) if self._requests else 0.0,
                self._tokens.wait(now) if self._tokens else 0.0,
            )
            if delay > 0:
                self._wake_in(delay)
                return
            self._waiting.popleft()
            self._in_flight += 1
            if self._requests:
                self._requests.take(now, 1)
            if self._tokens:
                self._tokens.take(now, tokens)
            future.set_result(Permit(now, self._epoch, self.successes))

    def _wake_in(self, delay: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(delay, self._let_go)


def _seconds(seconds: float) -> str:
    rounded = f"{seconds:.0f}"
    return "1 second" if rounded == "1" else f"{rounded} seconds"
