"""The types that engine, backends and ledger exchange: questions, replies, faults, interfaces."""

import asyncio
import contextlib
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, Protocol, Self, runtime_checkable

from judging.engine.messages import Messages, without_cut_end
from judging.engine.thoughts import without_marks

_UNCLOSED = re.compile(r"\{[^{}]*\d\Z")  # an object that ends in a number
# Requests of other processes, and of other runs of a campaign, also free room when they end.
_RETRY_SECONDS = 0.5


class BudgetQueue:
    """The questions of a run that currently have no room in its budget.

    The first of them tries again whenever a request of the run has ended; the others wait.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._ended_request = asyncio.Event()

    def notify(self) -> None:
        """Report that a request has ended, so that there may be room."""
        self._ended_request.set()

    @asynccontextmanager
    async def front(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Wait for the first position, and yield a function that waits until there may be room."""
        async with self._turn:
            yield self._wait

    async def _wait(self) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._ended_request.wait(), _RETRY_SECONDS)
        self._ended_request.clear()


ShownSide = Literal["A", "B", "C"]
SIDES: tuple[ShownSide, ...] = ("A", "B", "C")
# The words of a reply whose probabilities are read, by name of the probability.
Options = Mapping[str, tuple[str, ...]]
AnswerState = Literal["done", "unparseable", "refused", "error"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The chosen side, as a letter of the prompt; None if the reply gives none.

    `details` has other contents of the reply, such as scores, by the letters of the prompt.
    `continues`: the reply is a step after which the protocol asks again. `position` is where the
    letter or word that was read starts in the reply; None if there is none.
    """

    side: ShownSide | None
    certainty: int | None
    details: Mapping[str, Any] = field(default_factory=dict)
    continues: bool = False
    position: int | None = None


class ReplyFormat(Protocol):
    """The reply that a question expects; see `judging.protocols`."""

    @property
    def offers_tie(self) -> bool: ...

    def options(self, earlier: tuple[str, ...]) -> Options:
        """The options of the step that follows `earlier`; empty if it has no probabilities."""

    def weigh(self, verdict: Verdict, probabilities: Mapping[str, float] | None) -> Verdict:
        """A verdict with the information from the last step's option probabilities."""

    def conversation(self, messages: Messages, earlier: tuple[str, ...]) -> Messages:
        """The messages of the step that follows the replies `earlier` to a prompt."""

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        """The verdict in a reply; without a side if the question must be asked again."""

    def form(self) -> Mapping[str, Any]:
        """The fields of a structured reply, as a JSON schema describes them."""


@dataclass(frozen=True, slots=True)
class ClosedQuestion:
    """The words of a question to which a server gives only the probability of each answer.

    `levels` are names and definitions of certainty, by their slugs from the lowest on, and
    `how_certain` asks for one of them. Both are empty if the protocol asks for no certainty.
    """

    ask: str
    how_certain: str = ""
    levels: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def questions(self) -> int:
        """How many questions it is, for each of which a server may read the whole prompt."""
        return 2 if self.levels else 1

    @property
    def words(self) -> str:
        """All words that are sent next to the prompt."""
        levels = (word for level in self.levels.values() for word in level)
        return "\n".join((self.ask, self.how_certain, *levels))


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """One prompt to one model; `id` identifies it in the ledger.

    `earlier` are the replies to its earlier steps, if its protocol has several, and `probabilities`
    those of the sides at the step that chose one. `closed` is for servers that give nothing else.
    """

    id: int
    messages: Messages
    protocol: "ReplyFormat"
    seed: int
    replies: int = 0  # of this step, stored by an earlier worker; they count towards the ceiling
    attempts: int = 0  # number of the last attempt that the ledger holds
    has_failed: bool = False  # one of these failed
    earlier: tuple[str, ...] = ()
    is_lenient: bool = False
    probabilities: Mapping[ShownSide, float] | None = None
    closed: ClosedQuestion | None = None

    @property
    def asking(self) -> Messages:
        """The messages of the current step."""
        return self.protocol.conversation(self.messages, self.earlier)

    def read(self, text: str, *, is_structured: bool, is_cut: bool = False) -> Verdict:
        """The verdict in a reply to the current step, up to the last complete word."""
        # Not every server says that it cut a reply off.
        return self.protocol.read(
            without_cut_end(text) if is_cut or _UNCLOSED.search(text) else text,
            earlier=self.earlier,
            is_structured=is_structured,
            is_lenient=self.is_lenient,
        )

    @property
    def options(self) -> Options:
        """The options of the current step."""
        return self.protocol.options(self.earlier)

    def sides_in(self, reply: "Reply") -> Mapping[ShownSide, float] | None:
        """The probabilities of the sides, from this step's reply or from an earlier one."""
        if reply.probabilities is None or not set(reply.probabilities) <= {"A", "B", "C"}:
            return self.probabilities
        return {side: reply.probabilities[side] for side in SIDES if side in reply.probabilities}

    def following(self, reply: "Reply") -> Self:
        """The question after `reply` has answered the current step."""
        return replace(
            self,
            earlier=(*self.earlier, without_cut_end(reply.text) if reply.truncated else reply.text),
            replies=0,
            probabilities=self.sides_in(reply),
        )


@dataclass(frozen=True, slots=True)
class Parameters:
    """All parameters of a request, other than its prompt and the number of its seed.

    Created once and shared by all requests with equal parameters; `sha256` identifies them in the
    ledger.
    """

    values: Mapping[str, Any]
    text: str = field(init=False)  # as JSON, the same for the same values
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        text = json.dumps(self.values, sort_keys=True, ensure_ascii=False)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "sha256", hashlib.sha256(text.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class Usage:
    """Billed tokens; `reasoning_tokens` is the part of the completion used for thinking,
    `cached_tokens` the part of the prompt that the server had in its cache. `cost` are the US
    dollars that the server says it charged, if it says so."""

    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    cost: Decimal | None = None

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a model, with the facts that the server reports about it.

    `probabilities` are those of the step's options at the letter or word that was read; they add up
    to 1. They are None if they were not requested, did not arrive or cannot be used;
    `no_probabilities` is then the reason, if known. `thoughts` are what the server reports
    separately from the text. `tool` names a tool that the model calls instead of answering.
    `details` are stored with the judgment, by the letters of the prompt. `answers` is what the
    server sent if that is no text; `text` then says the same in the form that protocols read.
    """

    text: str
    refused: bool = False  # by the server's own statement, not guessed from the text
    truncated: bool = False
    is_structured: bool = False  # a form was requested; the text shows whether the reply has it
    usage: Usage | None = None
    model: str = ""
    fingerprint: str = ""
    request_id: str = ""
    probabilities: Mapping[str, float] | None = None
    no_probabilities: str = ""
    thoughts: str = ""
    tool: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    answers: str = ""
    status: int = 200  # some servers report a refusal as an error

    @property
    def stored(self) -> str:
        """The text to store, preceded by the thoughts, which are not read."""
        if self.answers:
            return self.answers
        thoughts = without_marks(self.thoughts)
        return f"<think>{thoughts}</think>\n{self.text}" if thoughts else self.text


class BackendFault(Exception):
    """A request without a reply. The subclass states why, and whether to try again.

    `usage` is what the error itself says that the request has used.
    """

    outcome = "server_error"
    maybe_billed = False
    usage: Usage | None = None

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class RateLimited(BackendFault):
    """Status 429: all requests to this server must wait."""

    outcome = "rate_limited"


class ServerError(BackendFault):
    """A server error: 5xx, 408 or 409."""


class TimedOut(BackendFault):
    """No answer in time; the server may have worked and may bill for it."""

    outcome = "timeout"
    maybe_billed = True


class Unreachable(BackendFault):
    """No connection: the request was never sent."""

    outcome = "unreachable"


class Interrupted(BackendFault):
    """The connection broke before the answer arrived."""

    outcome = "interrupted"
    maybe_billed = True


class Garbage(BackendFault):
    """A success whose body is not a chat completion."""

    outcome = "garbage"
    maybe_billed = True


class Broken(BackendFault):
    """An error in this process; the server may have worked and may bill for it."""

    outcome = "failed"
    maybe_billed = True


class NotSent(Broken):
    """An error in this process before anything was sent."""

    maybe_billed = False


class Rejected(BackendFault):
    """The server refuses this request, now and later."""

    outcome = "rejected"


class Misconfigured(Rejected):
    """The server seems to refuse all requests: wrong model, wrong address, no access."""


class NotOffered(Misconfigured):
    """The server cannot answer such questions; `advice` says what to do, `message` is its own."""

    def __init__(self, problem: str, advice: str, *, message: str, status: int | None) -> None:
        super().__init__(f"{problem} {advice} ({message})", status=status)
        self.problem, self.advice, self.message = problem, advice, message


class NoAccess(Misconfigured):
    """The server refuses all requests, whatever their content: wrong key, no quota."""


class AdjustedRequest(Rejected):
    """Rejected for a parameter that the backend now leaves out or renames."""


class Stopped(Exception):
    """Base of the reasons why a question stays open; the message is a sentence."""


class Outage(Stopped):
    """The endpoint returned nothing useful for too long."""


class OverBudget(Stopped):
    """The next request could cost more than the run may spend."""


class Halted(Stopped):
    """A user paused or cancelled the run, or the process is ending."""


class BudgetInUse(Exception):
    """Requests in progress may use up the budget or cost less: try again later."""


class LedgerFailed(Exception):
    """The ledger could not be written; without it no request is sent."""


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """How a request ended."""

    outcome: str
    latency_ms: int | None
    status: int | None = None
    usage: Usage | None = None
    maybe_billed: bool = False
    text: str = ""
    error: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """The final answer to a question."""

    state: AnswerState
    side: ShownSide | None = None
    certainty: int | None = None
    text: str = ""
    model: str = ""
    fingerprint: str = ""
    error: str = ""
    probabilities: Mapping[ShownSide, float] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


# The outcome of a request: the final answer, the question at its next step, or nothing yet.
Outcome = JudgeAnswer | JudgeQuestion | None


# Called with the parameters of a request before it is sent; the function that it returns is called
# when the request has ended, with the reply if there was one.
RequestWatch = Callable[["Parameters"], Callable[[AttemptEnd, Reply | None], None]]


class Backend(Protocol):
    def parameters(self) -> Parameters:
        """The parameters of the next request; empty if none are sent."""

    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        """Send one request, without retries. Raises a `BackendFault`."""

    async def close(self) -> None: ...


@runtime_checkable
class StepwiseBackend(Protocol):
    """A backend that may take as long as its hardware needs while it makes progress."""

    step_seconds: float
    """The longest time for a single step."""

    @property
    def moved_at(self) -> float:
        """The time of its last step, by the monotonic clock."""


@runtime_checkable
class FindingBackend(Protocol):
    """A backend that finds out by its requests how its server is asked."""

    @property
    def found(self) -> Mapping[str, Any]:
        """The options of the judge that it has found; empty if there is nothing to keep."""


@runtime_checkable
class LearningBackend(Protocol):
    """A backend that learns which parameters its server refuses."""

    def learn(self, error: bytes | str, sent: Parameters) -> bool:
        """Learn from an error about what was `sent`; return whether another try may help."""


class AttemptLedger(Protocol):
    budget_queue: BudgetQueue
    """Where questions wait for room in the budget."""

    async def open(self, question: JudgeQuestion, number: int, parameters: Parameters) -> None:
        """Return when attempt `number` is stored with the `parameters` to send.

        Raises `Stopped` if it must not be sent, and `BudgetInUse` if it may be sent later.
        """

    async def close(
        self,
        question: JudgeQuestion,
        number: int,
        end: AttemptEnd,
        replies: int,
        outcome: Outcome,
    ) -> None:
        """Return when the end and the outcome of attempt `number` are stored.

        `replies` is the number of replies to the question's current step.
        """
