"""Texts that judges write: each request in its row before it is sent, within a budget.

Rows are of a subclass of `AskedText`, and belong to a job that has a `budget`. A text that arrived
is never asked for again; a request that a killed worker left stays counted at its highest cost.
"""

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from django.db import connection, transaction
from django.db.models import Count, F, Q, QuerySet, Sum

from judging.backends import registry
from judging.engine.interface import (
    AttemptEnd,
    BudgetInUse,
    BudgetQueue,
    Halted,
    JudgeAnswer,
    JudgeQuestion,
    Options,
    Outcome,
    OverBudget,
    Parameters,
    Stopped,
    Verdict,
)
from judging.engine.messages import Messages, prompt_sha256
from judging.models import NANO, AskedText, Judge
from judging.worker import runtime
from judging.worker.endpoints import reply_limit
from judging.worker.ledger import Prices, most_of, price
from studies.jobs.models import Job
from studies.jobs.runner import JobProblem

Usable = Callable[[str], str]


def judges_that_write() -> QuerySet[Judge]:
    """Judges whose model can be asked anything: not imported files."""
    kinds = [
        kind.name
        for kind in registry.backend_kinds()
        if (kind.capabilities.needs_endpoint or kind.capabilities.is_local)
        and not kind.capabilities.only_probabilities
    ]
    return Judge.objects.filter(is_retired=False, backend__in=kinds).order_by("name")


@dataclass(frozen=True)
class WrittenText:
    """`engine.interface.ReplyFormat` of a text: side A means that `usable` finds one."""

    usable: Usable

    offers_tie = False

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {}

    def weigh(self, verdict: Verdict, probabilities: Mapping[str, float] | None) -> Verdict:
        return verdict

    def conversation(self, messages: Messages, earlier: tuple[str, ...]) -> Messages:
        return messages

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        return Verdict("A" if self.usable(text) else None, None)

    def form(self) -> Mapping[str, Any]:
        return {}


T = TypeVar("T")


class TextLedger:
    """`engine.interface.AttemptLedger` of one judge's texts for a job, written by one thread.

    `texts` are all texts of the job, which share its budget. Use it as a context manager, which
    ends its thread and database connection.
    """

    def __init__(self, job: Job, texts: QuerySet[Any], judge: Judge, usable: Usable) -> None:
        self.budget_queue = BudgetQueue()
        self._job, self._texts, self._usable = job, texts, usable
        self._budget: Decimal | None = getattr(job, "budget", None)
        # Ask for plain text, whatever reply form the judge uses for verdicts.
        self._judge = copy.copy(judge)
        self._judge.structured, self._judge.probabilities = False, "no"
        self._room, self._prices = reply_limit(judge), Prices.of(judge, Decimal(1))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="texts")

    def __enter__(self) -> "TextLedger":
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.submit(connection.close)
        self._thread.shutdown()

    def ask(self, waiting: Sequence[tuple[AskedText, Messages]], *, seed: int, kept: str) -> None:
        """Ask for these texts and store what arrives.

        Raises `JobProblem` if an outage or the budget ends it, with the sentence `kept`, and any
        other error of a question.
        """
        questions = []
        for row, messages in waiting:
            self._texts.filter(pk=row.pk).update(prompt_sha256=prompt_sha256(messages))
            questions.append(
                JudgeQuestion(
                    id=row.pk,
                    messages=messages,
                    protocol=WrittenText(self._usable),
                    seed=(seed + row.pk) % 2**31,
                )
            )
        asker = runtime.asker(self._judge, self)
        for problem in runtime.get().loop.submit(asker.ask_all(questions)).result():
            if isinstance(problem, Stopped):
                raise JobProblem(f"{problem} {kept}")
            if problem is not None:
                raise problem

    async def open(self, question: JudgeQuestion, number: int, parameters: Parameters) -> None:
        if runtime.is_stopping():
            raise Halted("The worker is shutting down.")
        await self._run(partial(self._open, question))

    async def close(
        self,
        question: JudgeQuestion,
        number: int,
        end: AttemptEnd,
        replies: int,
        outcome: Outcome,
    ) -> None:
        await self._run(partial(self._close, question, end, outcome))
        self.budget_queue.notify()

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    @transaction.atomic
    def _open(self, question: JudgeQuestion) -> None:
        """Reserve the highest cost of a request. Raises `OverBudget`, `BudgetInUse` or `Halted`."""
        job = self._job
        current = (
            type(job)
            ._default_manager.select_for_update(no_key=True)
            .filter(pk=job.pk, state=Job.State.RUNNING, attempts=job.attempts)
        )
        if not current.exists():
            raise Halted("The job has ended, or another worker has it.")
        most = price(self._prices, most_of(question, reply_tokens=self._room)) or 0
        self._check_budget(most)
        self._texts.filter(pk=question.id).update(
            state=AskedText.SENT, requests=F("requests") + 1, held_nano=most
        )

    def _check_budget(self, most: int) -> None:
        if self._budget is None:
            return
        if self._prices is None:
            raise OverBudget(
                "The judge has no price, so the budget cannot be checked. Set "
                "its input and output price, or ask without a budget."
            )
        used = self._texts.aggregate(
            nano=Sum(F("spent_nano") + F("held_nano"), default=0),
            live=Count("pk", filter=Q(state=AskedText.SENT)),
        )
        if used["nano"] + most <= self._budget * NANO:
            return
        if used["live"]:
            raise BudgetInUse("The requests in progress may use up the rest of the budget.")
        raise OverBudget(
            f"The budget of ${self._budget.normalize():f} is too small for another request: "
            f"${used['nano'] / NANO:.4f} spent, and one more can cost up to ${most / NANO:.4f}. "
            "Request the rest again with a higher budget."
        )

    def _close(self, question: JudgeQuestion, end: AttemptEnd, outcome: Outcome) -> None:
        usage = end.usage
        if usage is None and end.maybe_billed:
            usage = most_of(question, reply_tokens=self._room)
        values: dict[str, Any] = {
            "held_nano": 0,
            "spent_nano": F("spent_nano") + (price(self._prices, usage) or 0),
            "state": AskedText.WAITING,
            "error": end.error,
        }
        if usage is not None:
            values["prompt_tokens"] = F("prompt_tokens") + usage.prompt_tokens
            values["completion_tokens"] = F("completion_tokens") + usage.completion_tokens
        if isinstance(outcome, JudgeAnswer):
            is_done = outcome.state == "done"
            values |= {
                "state": AskedText.WRITTEN if is_done else AskedText.FAILED,
                "model": outcome.model[:200],
                "reply": outcome.text,
                "text": self._usable(outcome.text) if is_done else "",
                "error": "" if is_done else outcome.error,
            }
        self._texts.filter(pk=question.id).update(**values)


def count_lost_requests(texts: QuerySet[Any]) -> None:
    """Reset requests of a killed worker. Their highest cost stays counted; they are sent again."""
    texts.filter(state=AskedText.SENT).update(
        state=AskedText.WAITING, spent_nano=F("spent_nano") + F("held_nano"), held_nano=0
    )
