"""One thread that owns a model and answers questions in batches.

Every question gets a result: an exception of the model is a fault of the batch, a thread that ends
refuses all waiting questions, and a model that makes no step for very long is abandoned. A model
that another one of this process waits for leaves the memory between two batches.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from judging.engine.interface import (
    BackendFault,
    JudgeQuestion,
    Misconfigured,
    Rejected,
    Reply,
    ServerError,
)
from judging.engine.messages import as_text

logger = logging.getLogger(__name__)

TURN_SECONDS = 300.0  # loading takes minutes, so a model stays this long while others wait
_LOOK_SECONDS = 1.0
_GATHER_SECONDS = 0.02  # how long a batch that is not full waits for more questions
_IDLE_SECONDS = 1.0  # without a question, before a model makes room for one that waits
_WATCH_SECONDS = 5.0  # how often a waiting question checks whether the model still makes steps
# Without a step. Reading a long prompt on a CPU takes minutes, a download of weights hours.
STEP_SECONDS = 30 * 60.0
LOAD_SECONDS = 4 * 3600.0


class Resident(Protocol):
    """The owner of a model."""

    moved_at: float  # when its model last made a step, by the monotonic clock


class Residency:
    """The right to have a model in memory: one owner at a time, in the order of asking."""

    def __init__(self, *, turn_seconds: float = TURN_SECONDS) -> None:
        self._turn_seconds = turn_seconds
        self._change = threading.Condition()
        self._holder: Resident | None = None
        self._since = 0.0
        self._waiting: list[Resident] = []

    def enter(self, owner: Resident, is_over: Callable[[], bool]) -> bool:
        """Wait until no other model is in memory; False if `is_over` before that.

        The owner moves as long as the model that it waits for does.
        """
        with self._change:
            self._waiting.append(owner)
            try:
                while self._holder is not None or self._waiting[0] is not owner:
                    if is_over():
                        return False
                    if self._holder is not None:
                        owner.moved_at = max(owner.moved_at, self._holder.moved_at)
                    self._change.wait(_LOOK_SECONDS)
                self._holder, self._since = owner, time.monotonic()
                return True
            finally:
                self._waiting.remove(owner)
                self._change.notify_all()

    def is_due(self, owner: Resident, *, is_idle: bool) -> bool:
        """Whether the owner's model must leave the memory for one that waits."""
        with self._change:
            if self._holder is not owner or not self._waiting:
                return False
            return is_idle or time.monotonic() - self._since > self._turn_seconds

    def leave(self, owner: Resident) -> None:
        """The owner's model is no longer in memory; has no effect if it was not."""
        with self._change:
            if self._holder is owner:
                self._holder = None
                self._change.notify_all()


RESIDENCY = Residency()


class Model(Protocol):
    """A model that answers; `moved` is called after every step, for example a token of a batch."""

    @property
    def out_of_memory(self) -> tuple[type[Exception], ...]: ...

    def answer(
        self, questions: Sequence[JudgeQuestion], seeds: Sequence[int], moved: Callable[[], None]
    ) -> list[Reply]: ...

    def answer_running(
        self,
        questions: Sequence[JudgeQuestion],
        seeds: Sequence[int],
        moved: Callable[[], None],
        *,
        more: Callable[[int], Sequence[tuple[JudgeQuestion, int]]],
        done: Callable[[int, Reply], None],
    ) -> None: ...

    def free_memory(self) -> None: ...

    def unload(self) -> None:
        """Let go of the weights; the model answers nothing more."""


@dataclass(frozen=True)
class _Request:
    question: JudgeQuestion
    seed: int
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Reply]"


class ModelThread:
    """Loads a model with the first question, and answers those that come together as one batch."""

    def __init__(
        self,
        load: Callable[[], Model],
        *,
        batch_size: int,
        refills: bool = False,
        residency: Residency = RESIDENCY,
    ) -> None:
        """`refills`: questions enter a batch that is being written, in place of ended replies."""
        self._load = load
        self._refills = refills
        self._residency = residency
        self._model: Model | None = None  # of the thread
        self._size = batch_size
        self._waiting: list[_Request] = []
        self._wake = threading.Condition()
        self._ends = False
        self._is_loading = False
        self._thread: threading.Thread | None = None
        self.moved_at = time.monotonic()  # when the model last made a step, or had nothing to do

    async def ask(self, question: JudgeQuestion, *, seed: int) -> Reply:
        """Wait for the reply. Raises a `Fault` if no reply comes."""
        loop = asyncio.get_running_loop()
        request = _Request(question, seed, loop, loop.create_future())
        with self._wake:
            if self._ends:
                raise ServerError("the model's thread has ended")
            if self._thread is None:
                self._move()
                self._thread = threading.Thread(target=self._run, name="judging-model", daemon=True)
                self._thread.start()
            self._waiting.append(request)
            self._wake.notify()
        try:
            while True:
                done, _ = await asyncio.wait([request.future], timeout=_WATCH_SECONDS)
                if done:
                    return request.future.result()
                self._give_up_if_stuck()
        finally:
            request.future.cancel()  # has no effect once the answer has arrived

    async def close(self) -> None:
        with self._wake:
            self._ends = True
            self._wake.notify()
            thread = self._thread
        if thread is not None:
            await asyncio.to_thread(thread.join, 30)

    def _give_up_if_stuck(self) -> None:
        patience = LOAD_SECONDS if self._is_loading else STEP_SECONDS
        silent = time.monotonic() - self.moved_at
        if silent > patience:
            doing = "is still loading" if self._is_loading else "made no step"
            raise Misconfigured(
                f"The local model {doing} after {silent / 60:.0f} minutes. Restart the worker."
            )

    def _move(self) -> None:
        self.moved_at = time.monotonic()

    def _run(self) -> None:
        failed: list[_Request] = []
        failure = ServerError("the model's thread has ended")
        try:
            while (batch := self._next_batch()) is not None:
                if self._residency.is_due(self, is_idle=not batch):
                    self._unload()
                try:
                    if batch:
                        answer = self._answer_running if self._refills else self._answer
                        answer(self._model or self._loaded(), batch)
                except BackendFault as fault:
                    _settle(batch, fault)
                except Exception as error:
                    # Any error: report it to those that wait, and continue for the others.
                    logger.exception("The local model failed.")
                    _settle(batch, _failure(error))
                except BaseException as error:
                    failed, failure = batch, _failure(error)
                    raise
        finally:
            self._unload()
            self._refuse_the_rest()
            # Last, so that a question asked after this answer starts another thread.
            _settle(failed, failure)

    def _unload(self) -> None:
        """Let go of the model, and let the next one load."""
        model, self._model = self._model, None
        try:
            if model is not None:
                model.unload()
        finally:
            self._residency.leave(self)

    def _loaded(self) -> Model:
        self._is_loading = True
        try:
            if not self._residency.enter(self, lambda: self._ends):
                raise ServerError("the model's thread has ended")
            self._model = self._load()
            return self._model
        except BackendFault:
            self._residency.leave(self)
            raise
        except Exception as error:
            self._residency.leave(self)
            logger.exception("The local model cannot be loaded.")
            raise Misconfigured(f"The local model cannot be loaded: {_words(error)}") from error
        finally:
            self._is_loading = False
            self._move()

    def _refuse_the_rest(self) -> None:
        """Refuse all waiting questions; the next question starts another thread."""
        with self._wake:
            rest, self._waiting = self._waiting, []
            self._thread = None
        _settle(rest, ServerError("the model's thread has ended"))

    def _next_batch(self) -> list[_Request] | None:
        """The oldest question and those most like it; empty if none comes, None at the end."""
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._ends, timeout=_IDLE_SECONDS)
            self._move()
            if self._waiting:
                self._wake.wait_for(
                    lambda: len(self._waiting) >= self._size or self._ends, timeout=_GATHER_SECONDS
                )
            if self._ends:
                return None
            return self._taken(self._size)

    def _taken(self, count: int) -> list[_Request]:
        """Take so many waiting questions at most; the lock is held."""
        # Compute nothing for requests that were cancelled.
        wanted = [request for request in self._waiting if not request.future.done()]
        batch = _alike(wanted)[:count]
        taken = {id(request) for request in batch}
        self._waiting = [request for request in wanted if id(request) not in taken]
        return batch

    def _answer_running(self, model: Model, batch: list[_Request]) -> None:
        """Answer a batch and what comes while it is written; `batch` grows by these."""
        settled: set[int] = set()

        def more(free: int) -> list[tuple[JudgeQuestion, int]]:
            with self._wake:
                if self._ends or self._residency.is_due(self, is_idle=False):
                    return []
                new = self._taken(free)
            batch.extend(new)
            return [(request.question, request.seed) for request in new]

        def done(place: int, reply: Reply) -> None:
            settled.add(place)
            _settle([batch[place]], reply)

        too_much: tuple[type[Exception], ...] = (MemoryError, *model.out_of_memory)
        questions = [request.question for request in batch]
        seeds = [request.seed for request in batch]
        try:
            model.answer_running(questions, seeds, self._move, more=more, done=done)
        except too_much:
            model.free_memory()
            rest = [request for place, request in enumerate(batch) if place not in settled]
            self._answer(model, rest)
            return
        if len(settled) != len(batch):
            raise RuntimeError(f"{len(settled)} replies to {len(batch)} questions")

    def _answer(self, model: Model, batch: list[_Request]) -> None:
        """Answer a batch; halve a batch that does not fit into the memory until it does."""
        too_much: tuple[type[Exception], ...] = (MemoryError, *model.out_of_memory)
        try:
            replies = model.answer(
                [request.question for request in batch],
                [request.seed for request in batch],
                self._move,
            )
        except too_much:
            model.free_memory()
            if len(batch) == 1:
                _settle(batch, Rejected("the question does not fit into the memory of the device"))
                return
            middle = len(batch) // 2
            self._answer(model, batch[:middle])
            self._answer(model, batch[middle:])
            return
        if len(replies) != len(batch):
            raise RuntimeError(f"{len(replies)} replies to {len(batch)} questions")
        for request, reply in zip(batch, replies, strict=True):
            _settle([request], reply)


def _alike(wanted: list[_Request]) -> list[_Request]:
    """The oldest first, then those that begin like it, then those nearest to it in length.

    Both orders and all samples of an item begin alike: one batch computes their beginning once.
    """
    if not wanted:
        return []
    first = as_text(wanted[0].question.asking)

    def distance(request: _Request) -> tuple[bool, int]:
        prompt = as_text(request.question.asking)
        half = min(len(first), len(prompt)) // 2
        return prompt[:half] != first[:half], abs(len(prompt) - len(first))

    return [wanted[0], *sorted(wanted[1:], key=distance)]


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or "the program gives no reason"


def _failure(error: BaseException) -> ServerError:
    return ServerError(f"the model failed: {_words(error)}")


def _settle(batch: Sequence[_Request], result: Reply | BackendFault) -> None:
    for request in batch:
        try:
            request.loop.call_soon_threadsafe(_resolve, request.future, result)
        except RuntimeError:  # that loop has ended, and nobody waits in it any more
            logger.debug("A loop ended before its question was answered.")


def _resolve(future: "asyncio.Future[Reply]", result: Reply | BackendFault) -> None:
    if future.done():  # answered before, or its owner was cancelled
        return
    if isinstance(result, BackendFault):
        future.set_exception(result)
    else:
        future.set_result(result)
