"""One limiter per endpoint, which decides when the next request of any user may be sent.

Three things delay a request: the slots (few at first, more while the server answers quickly,
half as many after an error), the rates (requests and tokens per minute), and a pause that is
common to all, because a server that rejects one request would reject the next one too.

A server without a useful answer is tried more and more rarely, one request at a time, and given
up after `patience` seconds. All code runs on one event loop; there are no locks. If several
processes ask the same endpoint, this one has the slots and rates that
`loop.grant_for` grants to it.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NoReturn

from judging.engine.interface import (
    BackendFault,
    Misconfigured,
    NoAccess,
    Outage,
    RateLimited,
    Rejected,
    TimedOut,
    Unreachable,
)
from judging.engine.limits import (
    BURST_SECONDS,
    Grant,
    LimitReport,
    RateLimits,
    ResponseTimes,
    Trend,
)

CIRCUIT_FAILURES = 5  # failures in a row, after which only one request at a time is sent
FIRST_CONTACT_SECONDS = 30.0  # an endpoint that never answered is more likely wrong than down
FIRST_REJECTIONS = 10  # rejections in a row before any success: the request is wrong
ALIKE = 3  # questions in a row that are refused as if the judge were set up wrong: it is
_LOADING = 503  # the status of a server that is there and not ready yet
LEFT_OUT_SECONDS = 60.0  # an address that was given up, while others answer
_LONGEST_PAUSE = 30.0
_GROWTH = 1.0  # slots regained by a full round of answers
_CUT = 0.5
_SHRINK = 0.75  # where answers get slower
_FEW_SLOTS = 16  # with these, the usual time of an answer is learnt, and none is given up for it
# Of the time after which answers are slow, a quarter of the time-out: twice the slots could take
# twice as long, and must not time out.
_MOST_OF_PATIENCE = 2.2


@dataclass(slots=True)
class Permit:
    """Permission to send one request; returned with the request's result."""

    since: float
    epoch: int
    successes: int
    tokens: int = 0
    slots: int = 1  # when it was given


class Bucket:
    """A rate per minute, spaced evenly, with a burst of a few seconds' worth."""

    def __init__(self, per_minute: int) -> None:
        self._seconds_each = 60.0 / per_minute
        self._free_at = 0.0  # when everything taken so far would be refilled

    def wait(self, now: float) -> float:
        return max(0.0, self._free_at - BURST_SECONDS - now)

    def take(self, now: float, amount: float) -> None:
        """Take an amount; to return it, pass a negative `amount` and the earlier time as `now`."""
        self._free_at = max(self._free_at, now) + amount * self._seconds_each


class Allowance:
    """The amount drawn for this process from a bucket that several processes share."""

    def __init__(self) -> None:
        self.left = 0.0

    def wait(self, now: float) -> float:
        return 0.0 if self.left > 0 else math.inf  # the next grant wakes waiting requests

    def take(self, now: float, amount: float) -> None:
        self.left -= amount


class Limiter:
    """Hands out permits; with `is_shared`, only those that `take` received for this process."""

    def __init__(
        self,
        limits: RateLimits,
        *,
        clock: Callable[[], float] = time.monotonic,
        is_shared: bool = False,
    ) -> None:
        self._clock = clock
        self._is_shared = is_shared
        self._granted = 0
        self._gives_back = False  # others wait for slots in which requests are still under way
        self._cuts: int | None = None  # of all processes, as far as known here
        self._has_cut = self._has_paused = False
        self._forgets_pauses = False
        self.news = (
            asyncio.Event()
        )  # there is something to report to the other processes, or to request
        self.moved_at = clock()  # when a request was last sent, or a grant arrived
        self._waiting: deque[tuple[asyncio.Future[Permit], int]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._in_flight = 0
        self._resume_at = 0.0
        self._asked_until = 0.0  # the part of it that the server asked for
        self._stepped_at = -math.inf  # when failures last lengthened the pause
        self._steps = 0
        self._answered_at = -math.inf
        self._window = 0.0
        self._is_rising = True  # as long as the endpoint has returned no error
        self._fastest = math.inf  # fastest answer so far, in seconds
        self._times = ResponseTimes()
        self._last_cut = 0.0
        self._limited_in_a_row = 0
        self._failures = 0
        self._rejections = 0
        self._failing_since: float | None = None
        self._failing: set[Hashable] = set()  # questions that failed since the last answer
        self._refused: set[Hashable] = set()
        self._epoch = 0
        self.last_words = ""  # the reason why the endpoint was given up
        self._given_up_at = -math.inf
        self.successes = 0
        self.set_limits(limits)

    def set_limits(self, limits: RateLimits) -> None:
        """Apply the judge's current limits; requests in flight stay counted."""
        self.limits = limits
        first = limits.concurrency if limits.first is None else limits.first
        self._window = float(min(limits.concurrency, max(self._window, first)))
        self._requests = self._rate(limits.rpm)
        self._tokens = self._rate(limits.tpm)

    def _rate(self, per_minute: int | None) -> Bucket | Allowance | None:
        if per_minute is None:
            return None
        return Allowance() if self._is_shared else Bucket(per_minute)

    @property
    def slots(self) -> int:
        """The number of requests that may be in flight now."""
        return min(self._own_slots, self._granted) if self._is_shared else self._own_slots

    @property
    def _own_slots(self) -> int:
        """The same, as far as this process knows the server."""
        return 1 if self._failures >= CIRCUIT_FAILURES else max(1, int(self._window))

    @property
    def load(self) -> float:
        """The share of the slots that is taken; at least 1 if another request has to wait."""
        if self._waiting or not self.slots or self._delay(self._clock()) > 0:
            return math.inf
        return self._in_flight / self.slots

    @property
    def is_left_out(self) -> bool:
        """Whether it was given up shortly before and has answered nothing since."""
        return self._clock() - self._given_up_at < LEFT_OUT_SECONDS

    @property
    def is_busy(self) -> bool:
        return bool(self._in_flight or self._waiting)

    async def acquire(self, tokens: int = 0) -> Permit:
        """Wait for a slot, the rates and the common pause. Raises `Outage` if it is given up.

        `tokens` is the number of tokens that the request is expected to use.
        """
        future: asyncio.Future[Permit] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, tokens))
        if self._is_shared and not self._granted:
            self.news.set()
        self._let_go()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.release(future.result(), is_unused=True)
            raise

    def renew(self, permit: Permit) -> None:
        """Keep the slot for another request at once, which counts against the rates too."""
        self._draw(self._clock(), 1, permit.tokens)
        permit.since, permit.successes = self._clock(), self.successes

    def release(self, permit: Permit, *, is_unused: bool = False) -> None:
        """Return the slot, exactly once for every permit.

        An unused permit, for which nothing was sent, does not count against the rates.
        """
        self._in_flight -= 1
        if is_unused:
            self._draw(permit.since, -1, -permit.tokens)
        self._give_back()
        self._let_go()

    def succeeded(self, permit: Permit) -> None:
        self.successes += 1
        self._failures = self._limited_in_a_row = self._rejections = self._steps = 0
        self._failing_since = None
        self._failing.clear()
        self._refused.clear()
        self._asked_until = 0.0
        self._given_up_at = -math.inf
        self._answered_at = self._clock()
        seconds = self._answered_at - permit.since
        self._fastest = min(self._fastest, seconds)
        if self.limits.is_adaptive and not self._may_grow(seconds):
            return
        # Slow answers show that more requests at once would only wait and time out.
        slow_after = self.limits.slow_after
        if seconds <= min(max(slow_after, 2 * self._fastest), _MOST_OF_PATIENCE * slow_after):
            growth = 1.0 if self._is_rising else _GROWTH / self._window
            self._window = min(float(self.limits.concurrency), self._window + growth)

    def failed(
        self,
        permit: Permit,
        fault: BackendFault,
        *,
        question: Hashable = None,
        is_own: bool = False,
        has_answered: bool = False,
    ) -> bool:
        """Slow down as the fault requires. Raises `Outage` when the endpoint is given up.

        `is_own`: the fault is known to be that of the question, so the endpoint is kept.
        `has_answered`: it is known to have answered others. Return whether the question alone
        has failed for as long as the judge waits, so that it is at fault.
        """
        if permit.epoch != self._epoch:
            raise Outage(self.last_words)  # given up while this request was under way
        has_answered |= bool(self.successes)
        if isinstance(fault, Rejected):
            self._count_rejection(fault, question, is_own=is_own, has_answered=has_answered)
            return False
        now = self._clock()
        if isinstance(fault, TimedOut) and permit.slots > 1 and not is_own:
            # It may have waited for the others in the server's queue, which is no fault.
            self._slow_down(permit, now, is_total=self.successes == permit.successes)
            return False
        is_own &= not isinstance(fault, Unreachable)
        if not is_own:
            self._failing.add(question)
            if self._failing_since is None:
                # Requests sent before others were answered do not show the state before that time.
                self._failing_since = max(permit.since, self._answered_at)
        since = now if self._failing_since is None else self._failing_since
        deadline = since + self._patience_with(fault)
        own = 0.0
        if isinstance(fault, RateLimited):
            self._slow_down(permit, now)
            own = min(_LONGEST_PAUSE, float(2 ** (self._limited_in_a_row - 1)))
        elif not is_own:
            own = self._back_off(permit, fault, now)
        if fault.retry_after is not None:
            self._asked_until = max(self._asked_until, now + fault.retry_after)
            self._pause(self._asked_until)
        elif own:
            self._pause(min(now + own, deadline))  # the last try comes when patience ends
        # Neither a pause of our own nor one that other processes lengthened ends a run.
        if self._asked_until > deadline:
            self._give_up(self._verdict(fault, now))
        if is_own or now < deadline:
            return False
        if self._failing == {question} != {None} and not isinstance(
            fault, Unreachable | RateLimited
        ):
            if self._waiting or self._in_flight > 1:
                return False  # another question shows whose fault it is
            if has_answered:
                return True
        self._give_up(self._verdict(fault, now))

    def _count_rejection(
        self, fault: Rejected, question: Hashable, *, is_own: bool, has_answered: bool
    ) -> None:
        """Give up an endpoint that refuses different questions alike, with no answer between."""
        if isinstance(fault, NoAccess):
            self._give_up(str(fault))
        if is_own:
            return
        if isinstance(fault, Misconfigured):
            is_again = question in self._refused
            self._refused.add(question)
            is_only = self._in_flight <= 1 and not self._waiting
            if len(self._refused) >= ALIKE or (not has_answered and (is_again or is_only)):
                self._give_up(str(fault))
            return
        self._rejections += 1
        if self._rejections >= FIRST_REJECTIONS and not has_answered:
            self._give_up(f"The server rejects every request: {fault}")

    def _patience_with(self, fault: BackendFault) -> float:
        if self.successes or isinstance(fault, RateLimited) or fault.status == _LOADING:
            return self.limits.patience
        return min(self.limits.patience, FIRST_CONTACT_SECONDS)

    def _back_off(self, permit: Permit, fault: BackendFault, now: float) -> float:
        """Seconds to wait after a failure. Requests sent before the last wait was decided add no
        information, so one wave of failures lengthens it once."""
        self._failures += 1
        if self._failures < CIRCUIT_FAILURES or permit.since <= self._stepped_at:
            return 0.0
        self._stepped_at = now
        self._steps += 1
        return min(_LONGEST_PAUSE / 2, 0.5 * 2.0 ** min(self._steps - 1, 8))

    def _slow_down(self, permit: Permit, now: float, *, is_total: bool = False) -> None:
        """Cut the slots; to one if `is_total`, because none of them brought an answer."""
        # Requests sent before the last cut did not know of it, so one wave cuts once.
        if permit.since >= self._last_cut:
            self._cut(now)
            self._has_cut = True
            if is_total:
                self._window = 1.0

    def _may_grow(self, seconds: float) -> bool:
        """Whether an answer after `seconds` allows more slots; fewer if answers get slower."""
        fewest = float(max(_FEW_SLOTS, self.limits.first or 1))
        is_new = self._times.add(seconds, self.slots, is_fewest=self._window <= fewest)
        if is_new and self._times.trend is Trend.SLOWER and self._window > fewest:
            self._window = max(fewest, self._window * _SHRINK)
            self._is_rising = False
        return self._times.trend is Trend.STEADY

    def _cut(self, now: float) -> None:
        self._window = max(1.0, self._window * _CUT)
        self._is_rising = False
        self._times.start_round()
        self._last_cut = now
        self._limited_in_a_row += 1

    def _pause(self, until: float) -> None:
        self._resume_at = max(self._resume_at, until)
        self._has_paused = True
        self.news.set()

    def _verdict(self, fault: BackendFault, now: float) -> str:
        assert self._failing_since is not None  # noqa: S101
        patience = self.limits.patience
        if fault.retry_after is not None and fault.retry_after > patience:
            return (
                f"The server asks to wait {_seconds(fault.retry_after)}, longer than the "
                f"{patience:.0f} that this judge waits. Continue the run later."
            )
        failed = f"The server gave no usable answer for {_seconds(now - self._failing_since)}"
        if self._asked_until > now:
            return (
                f"{failed} and asks to wait {_seconds(self._asked_until - now)} more, together "
                f"longer than the {patience:.0f} that this judge waits. Continue the run later."
            )
        return f"{failed}; the last thing was: {fault}. Check that it runs, then continue the run."

    def _give_up(self, sentence: str) -> NoReturn:
        """Fail all waiting requests; a later run starts with full patience."""
        self._epoch += 1
        self.last_words = sentence
        self._given_up_at = self._clock()
        self._failures = self._limited_in_a_row = self._rejections = self._steps = 0
        self._failing_since = None
        self._failing.clear()
        self._refused.clear()
        self._resume_at = self._asked_until = 0.0
        self._window = float(self.limits.first or self.limits.concurrency)
        self._is_rising = True
        self._times = ResponseTimes()
        self._forgets_pauses = True
        self.news.set()
        waiting, self._waiting = self._waiting, deque()
        for future, _ in waiting:
            if not future.done():
                future.set_exception(Outage(sentence))
        raise Outage(sentence)

    def _let_go(self) -> None:
        """Let as many requests start as possible; schedule a wake-up if only time delays one."""
        while self._waiting and self._in_flight < self.slots:
            future, tokens = self._waiting[0]
            if future.done():  # its owner was cancelled
                self._waiting.popleft()
                continue
            now = self._clock()
            if (delay := self._delay(now)) > 0:
                if delay < math.inf:
                    self._wake_in(delay)
                return
            self._waiting.popleft()
            self._in_flight += 1
            self.moved_at = now
            self._draw(now, 1, tokens)
            permit = Permit(now, self._epoch, self.successes, tokens, self._own_slots)
            future.set_result(permit)

    def _delay(self, now: float) -> float:
        """Seconds until the pause and the rates allow another request."""
        return max(
            self._resume_at - now,
            self._requests.wait(now) if self._requests else 0.0,
            self._tokens.wait(now) if self._tokens else 0.0,
        )

    def _draw(self, now: float, requests: int, tokens: int) -> None:
        if self._requests:
            self._requests.take(now, requests)
        if self._tokens:
            self._tokens.take(now, tokens)

    def _wake_in(self, delay: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(delay, self._let_go)

    def report(self) -> LimitReport:
        """The report for the other processes; its contents then count as reported."""
        now = self._clock()
        if not self.is_busy:
            self._granted = 0  # given back with this report
        waiting = [(future, tokens) for future, tokens in self._waiting if not future.done()]
        tokens_waiting = sum(tokens for _, tokens in waiting)
        report = LimitReport(
            limits=self.limits,
            held=max(self._granted, self._in_flight),
            wanted=self._in_flight + len(waiting),
            requests=_lacking(self._requests, len(waiting)),
            tokens=_lacking(self._tokens, tokens_waiting),
            first_tokens=float(waiting[0][1]) if waiting else 0.0,
            pause=self._pause_to_tell(now),
            has_cut=self._has_cut,
        )
        self._has_cut = self._has_paused = self._forgets_pauses = False
        return report

    def _pause_to_tell(self, now: float) -> float | None:
        if self._forgets_pauses:
            return None
        return max(0.0, self._resume_at - now) if self._has_paused else 0.0

    def restore(self, report: LimitReport) -> None:
        """Restore the contents of a report that did not arrive."""
        self._has_cut |= report.has_cut
        self._has_paused |= bool(report.pause)
        self._forgets_pauses |= report.pause is None

    def take(self, grant: Grant, report: LimitReport) -> None:
        """Apply the grant, and wait as long as the longest pause of any process."""
        now = self.moved_at = self._clock()
        if self._cuts is not None and grant.cuts > self._cuts + report.has_cut:
            self._cut(now)
        self._cuts = grant.cuts
        self._granted = grant.slots
        self._gives_back = report.held > grant.slots
        self._give_back()
        for rate, amount in ((self._requests, grant.requests), (self._tokens, grant.tokens)):
            if isinstance(rate, Allowance):
                rate.left += amount
        # A longer pause ends a run; a new run may try again.
        self._resume_at = max(self._resume_at, now + min(grant.pause, self.limits.patience))
        self._let_go()

    def _give_back(self) -> None:
        """Report that slots are free for others, as soon as no request is under way in them."""
        if self._gives_back and self._in_flight <= self._granted:
            self._gives_back = False
            self.news.set()


def _lacking(rate: Bucket | Allowance | None, wanted: float) -> float:
    return max(0.0, wanted - rate.left) if isinstance(rate, Allowance) else 0.0


def _seconds(seconds: float) -> str:
    rounded = f"{seconds:.0f}"
    return "1 second" if rounded == "1" else f"{rounded} seconds"
