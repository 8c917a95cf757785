"""Asking one question until it has an answer, at an address that has a slot.

Every address has a limiter of its own, with its own slots, rates and pauses. A judge with one
address behaves as if there were no routes: the limiter decides alone.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from judging.engine.interface import (
    AdjustedRequest,
    AttemptEnd,
    AttemptLedger,
    Backend,
    BackendFault,
    Broken,
    BudgetInUse,
    JudgeAnswer,
    JudgeQuestion,
    Misconfigured,
    Outage,
    Outcome,
    Parameters,
    Rejected,
    Reply,
    RequestWatch,
    Unreachable,
)
from judging.engine.messages import is_empty, length, looks_like_refusal, split_thoughts
from judging.engine.rate_limits import Limiter, Permit
from judging.engine.thoughts import without_marks


@dataclass(frozen=True, slots=True)
class Route:
    """One address: its backend and its limiter."""

    backend: Backend
    limiter: Limiter


class Routes:
    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = list(routes)

    @property
    def limiters(self) -> list[Limiter]:
        return [route.limiter for route in self._routes]

    @property
    def moved_at(self) -> float:
        """When a request was last sent to any of them, or a grant last arrived."""
        return max(route.limiter.moved_at for route in self._routes)

    def others_answer(self, route: Route) -> bool:
        """Whether another address is still in use."""
        return any(r is not route and not r.limiter.is_left_out for r in self._routes)

    async def acquire(self, tokens: int, *, had_outage: bool) -> tuple[Route, Permit]:
        """Wait for a slot at any address. Raises `Outage` if all of them are given up.

        `had_outage`: the question was asked at an address that has since been given up. Other
        questions retry such addresses if there is no other.
        """
        routes = self._routes
        if len(routes) > 1:
            there = [route for route in routes if not route.limiter.is_left_out]
            routes = there or ([] if had_outage else routes)
        if not routes:
            raise Outage(self._last_words())
        best = min(routes, key=lambda route: route.limiter.load)
        if len(routes) == 1 or best.limiter.load < 1:
            return best, await best.limiter.acquire(tokens)
        return await _first(routes, tokens)

    def _last_words(self) -> str:
        words = {route.limiter.last_words: None for route in self._routes}
        return f"None of the {len(self._routes)} addresses answers. {' '.join(words)}"


async def _first(routes: Sequence[Route], tokens: int) -> tuple[Route, Permit]:
    """The first slot at several addresses; leave the other queues."""
    waiting = {asyncio.ensure_future(route.limiter.acquire(tokens)): route for route in routes}
    last: BaseException | None = None
    try:
        while waiting:
            ended, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                if (last := task.exception()) is None:
                    return waiting.pop(task), task.result()
                del waiting[task]
        assert last is not None  # noqa: S101
        raise last
    finally:
        for task, route in waiting.items():
            if not task.cancel() and task.exception() is None:  # it got one at the same moment
                route.limiter.release(task.result(), is_unused=True)


logger = logging.getLogger(__name__)
_SEE_LOG = "the worker's log has the details"

MAX_REPLIES = 5  # the first and four more
MAX_CUT_THOUGHTS = 2  # replies that end while the model still thinks: more would end the same way
# Faults of one question before it becomes an error. They count only if the endpoint answered
# another question since the first of them: an outage of the server is not the question's fault.
MAX_OWN_FAULTS = 8
MAX_OWN_REFUSALS = 3  # of one question, as if the judge were set up wrong
_LONGEST_OWN_PAUSE = 15.0
_COMPLETION_GUESS = 64


def expected_tokens(question: JudgeQuestion) -> int:
    """Expected tokens of a request, for the limit of tokens per minute."""
    times = question.closed.questions if question.closed else 1
    return times * length(question.asking) // 4 + _COMPLETION_GUESS


def seed_of(question: JudgeQuestion, replies: int | None = None) -> int:
    """A separate seed for each reply, because with the same seed a model would repeat a bad one."""
    return (question.seed + (question.replies if replies is None else replies)) % 2**31


def read_answer(question: JudgeQuestion, reply: Reply, *, is_last: bool) -> Outcome:
    """The final answer in `reply`, or the question at its next step; None if it is asked again."""
    verdict = question.read(reply.text, is_structured=reply.is_structured, is_cut=reply.truncated)
    verdict = question.protocol.weigh(verdict, reply.probabilities)
    details = {**verdict.details, **reply.details}
    if "read" in details and question.sides_in(reply) is not None:
        details["probabilities_at"] = "letter"
    if reply.no_probabilities:
        details["no_probabilities"] = reply.no_probabilities
    answer = partial(
        JudgeAnswer,
        text=reply.stored,
        model=reply.model,
        fingerprint=reply.fingerprint,
        details=details,
        probabilities=question.sides_in(reply),
    )
    if verdict.continues and not reply.refused:
        return question.following(reply)
    if verdict.side is not None and not reply.refused:
        return answer("done", verdict.side, verdict.certainty)
    if reply.refused:
        return answer("refused", error="The server reports that the model declined.")
    if not is_last:
        return None
    if looks_like_refusal(reply.text):
        return answer("refused", error="The reply declines to answer.")
    if ran_out_of_room(reply):
        return answer(
            "unparseable",
            error="The model used all its tokens for thinking and gave no answer. Add a judge with "
            "more thinking tokens.",
        )
    last = " The last one was cut off at the token limit." if reply.truncated else ""
    if reply.tool:
        last = f" The last one calls the tool “{reply.tool}” and has no text. Use a model or a "
        last += "server without tools."
    which = (
        f"to step {len(question.earlier) + 1} can be read" if question.earlier else "names a side"
    )
    if chooses_in_thoughts(question, reply):
        last += f" {ONLY_IN_THOUGHTS} {OUT_OF_THOUGHTS}"
    return answer("unparseable", error=f"No reply of {MAX_REPLIES} {which}.{last}")


ONLY_IN_THOUGHTS = (
    "The reply names a response only in the thoughts of the model (`reasoning_content` or thinking "
    "tags), which are not read."
)
OUT_OF_THOUGHTS = (
    "Switch thinking off, or set up the server so that the answer follows the thoughts; vLLM and "
    "SGLang need the reasoning parser of the model."
)


def chooses_in_thoughts(question: JudgeQuestion, reply: Reply) -> bool:
    """Whether the thoughts of a reply hold what the reply itself does not."""
    thoughts = without_marks(reply.thoughts or split_thoughts(reply.text)[0])
    verdict = question.read(thoughts, is_structured=reply.is_structured)
    return verdict.side is not None or verdict.continues


def ran_out_of_room(reply: Reply) -> bool:
    """Whether a model was still thinking when its tokens were used up."""
    return reply.truncated and is_empty(reply.text)


def is_last_reply(reply: Reply, replies: int) -> bool:
    """Whether reply number `replies` is the last one to request, whatever it says."""
    return replies >= (MAX_CUT_THOUGHTS if ran_out_of_room(reply) else MAX_REPLIES)


class Asker:
    """One judge of one run: the routes to its addresses, and the run's ledger.

    `has_answered`: the judge has answered questions of the run before. `watches` see each request.
    """

    def __init__(
        self,
        *,
        routes: Sequence[Route],
        ledger: AttemptLedger,
        has_answered: bool = False,
        watches: Sequence[RequestWatch] = (),
    ) -> None:
        self.routes = Routes(routes)
        self._ledger = ledger
        self._has_answered = has_answered
        self._watches = watches
        self._only_failed = False

    async def ask_all(self, questions: Sequence[JudgeQuestion]) -> list[BaseException | None]:
        """Ask every question; return the reason why each of them stopped, or None."""
        # If only questions are left that failed while others were answered, the endpoint is not at
        # fault: otherwise every start would give it up again, and the run would never end.
        self._only_failed = self._has_answered and all(
            question.has_failed for question in questions
        )
        tasks = (self.ask(question) for question in questions)
        return await asyncio.gather(*tasks, return_exceptions=True)

    async def ask(self, question: JudgeQuestion) -> None:
        """Ask until an answer is stored. Raises `Stopped` with the question left open."""
        number, replies, had_outage = question.attempts, question.replies, False
        faults = OwnFaults(self.routes.limiters if question.has_failed else ())
        while True:
            number += 1
            leave = await self._leave(question, number, had_outage=had_outage)
            limiter = leave.route.limiter
            is_own = self._only_failed or faults.are_own(limiter)
            try:
                end, reply, fault = await self._send(question, replies, leave)
                # In the same slot, so that no other question uses the parameters being tried.
                while isinstance(fault, AdjustedRequest):
                    await self._ledger.close(question, number, end, replies, None)
                    leave = replace(leave, parameters=leave.route.backend.parameters())
                    try:
                        await self._ledger.open(question, number + 1, leave.parameters)
                    except BudgetInUse:  # wait for room like any other request
                        break
                    number += 1
                    limiter.renew(leave.permit)
                    end, reply, fault = await self._send(question, replies, leave)
                if isinstance(fault, AdjustedRequest):
                    continue
                # Before freeing the slot, so that no request directly follows a failed one.
                is_over, outage = self._report(question, leave, fault, is_own=is_own)
            finally:
                limiter.release(leave.permit)

            outcome: Outcome = None
            pause = 0.0
            if reply is not None:
                replies += 1
                outcome = _read(question, reply, replies)
            elif fault is not None and not isinstance(fault, Unreachable):
                failed = faults.count(limiter)
                if is_over or _is_final(fault, failed, is_own=is_own):
                    outcome = JudgeAnswer("error", error=_words(fault, failed))
                elif is_own:
                    pause = min(_LONGEST_OWN_PAUSE, 0.5 * 2.0 ** (failed - 1))
            if outage is not None:  # the endpoint's fault, not the question's: it stays open
                await self._ledger.close(question, number, end, replies, None)
                if not self.routes.others_answer(leave.route):
                    raise outage
                had_outage = True
                continue
            await self._ledger.close(question, number, end, replies, outcome)
            if isinstance(outcome, JudgeAnswer):
                return
            if outcome is not None:
                question, replies = outcome, 0
            await asyncio.sleep(pause)

    async def _send(
        self, question: JudgeQuestion, replies: int, leave: "_Leave"
    ) -> tuple[AttemptEnd, Reply | None, BackendFault | None]:
        ended = [watch(leave.parameters) for watch in self._watches]
        end, reply, fault = await _send(question, replies, leave)
        for note in ended:
            note(end, reply)
        return end, reply, fault

    def _report(
        self, question: JudgeQuestion, leave: "_Leave", fault: BackendFault | None, *, is_own: bool
    ) -> tuple[bool, Outage | None]:
        """Whether the question has used its attempts, and why the endpoint is given up, if so."""
        if fault is None:
            return False, None
        try:
            is_over = leave.route.limiter.failed(
                leave.permit,
                fault,
                question=question.id,
                is_own=is_own,
                has_answered=self._has_answered,
            )
        except Outage as outage:  # raised by the caller once the attempt is stored
            return False, outage
        return is_over, None

    async def _leave(self, question: JudgeQuestion, number: int, *, had_outage: bool) -> "_Leave":
        """Wait for a slot and for room in the budget; the attempt is then in the ledger."""
        if leave := await self._open(question, number, had_outage):
            return leave
        async with self._ledger.budget_queue.front() as wait:
            while not (leave := await self._open(question, number, had_outage)):
                await wait()
        return leave

    async def _open(
        self, question: JudgeQuestion, number: int, had_outage: bool
    ) -> "_Leave | None":
        """None if the budget has no room beyond the requests in progress."""
        route, permit = await self.routes.acquire(expected_tokens(question), had_outage=had_outage)
        try:
            # Read once, because other requests may meanwhile learn that some are refused.
            parameters = route.backend.parameters()
            await self._ledger.open(question, number, parameters)
        except BudgetInUse:
            route.limiter.release(permit, is_unused=True)
            return None
        except BaseException:
            route.limiter.release(permit)
            raise
        return _Leave(route, permit, parameters)


@dataclass(frozen=True, slots=True)
class _Leave:
    """A request that may be sent: address, slot and parameters."""

    route: Route
    permit: Permit
    parameters: Parameters


class OwnFaults:
    """The faults of one question by address, with the answers to others in between.

    `failed_at`: the limiters of addresses where it failed before it is asked here.
    """

    def __init__(self, failed_at: Iterable[Limiter] = ()) -> None:
        self._faults = {limiter: (1, limiter.successes) for limiter in failed_at}

    def are_own(self, limiter: Limiter) -> bool:
        """Whether it failed at an address that has since answered another question."""
        return limiter in self._faults and limiter.successes > self._faults[limiter][1]

    def count(self, limiter: Limiter) -> int:
        """Count a fault; return their number."""
        faults, successes = self._faults.get(limiter, (0, limiter.successes))
        self._faults[limiter] = faults + 1, successes
        return faults + 1


def _is_final(fault: BackendFault, failed: int, *, is_own: bool) -> bool:
    """Whether a question with this many failures becomes an error, if the endpoint is kept."""
    if isinstance(fault, Misconfigured):
        return is_own or failed >= MAX_OWN_REFUSALS
    return isinstance(fault, Rejected) or (is_own and failed >= MAX_OWN_FAULTS)


def _words(fault: BackendFault, failed: int) -> str:
    if failed == 1:
        return str(fault)
    return f"{failed} requests failed while others succeeded: {fault}"


async def _send(
    question: JudgeQuestion, replies: int, leave: _Leave
) -> tuple[AttemptEnd, Reply | None, BackendFault | None]:
    started = time.monotonic()
    try:
        reply = await leave.route.backend.ask(
            question, seed=seed_of(question, replies), parameters=leave.parameters
        )
    except BackendFault as fault:
        return _end_of(fault, started), None, fault
    except Exception:
        # Any other error is stored in the ledger too, and treated like an outage.
        logger.exception("A request failed in this process.")
        broken = Broken(f"failed in this program; {_SEE_LOG}")
        return _end_of(broken, started), None, broken
    leave.route.limiter.succeeded(leave.permit)
    end = AttemptEnd(
        "replied",
        _milliseconds(started),
        status=reply.status,
        usage=reply.usage,
        maybe_billed=reply.usage is None,
        text=reply.stored,
        request_id=reply.request_id,
    )
    return end, reply, None


def _end_of(fault: BackendFault, started: float) -> AttemptEnd:
    return AttemptEnd(
        fault.outcome,
        _milliseconds(started),
        status=fault.status,
        usage=fault.usage,
        maybe_billed=fault.maybe_billed,
        error=str(fault),
    )


def _read(question: JudgeQuestion, reply: Reply, replies: int) -> Outcome:
    """Call `read_answer`; if it fails, do not pay for the reply again."""
    try:
        return read_answer(question, reply, is_last=is_last_reply(reply, replies))
    except Exception:
        logger.exception("A reply could not be read.")
        sentence = f"The reply could not be read, because this program failed; {_SEE_LOG}."
        return JudgeAnswer("error", text=reply.stored, error=sentence)


def _milliseconds(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
