"""The ledger of a drafting job: each request is in the database before it is sent."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from django.db import connection, transaction
from django.db.models import Count, F, Q, Sum

from extras.personas.models import DraftingJob, ProfileDraft
from extras.personas.prompt import usable
from judging.engine.budget_queue import BudgetQueue
from judging.engine.interface import (
    AttemptEnd,
    BudgetInUse,
    Halted,
    JudgeAnswer,
    JudgeQuestion,
    Outcome,
    OverBudget,
    Parameters,
)
from judging.models import NANO, Judge
from judging.worker import runtime
from judging.worker.endpoints import reply_limit
from judging.worker.records.ledger import Prices, most_of, price

T = TypeVar("T")


class DraftLedger:
    """`engine.interface.AttemptLedger` of the drafts of one job, written by one thread in turn.

    Use it as a context: its thread and its connection to the database end with it.
    """

    def __init__(self, job: DraftingJob, judge: Judge) -> None:
        self.budget_queue = BudgetQueue()
        self._job, self._room = job, reply_limit(judge)
        self._prices = Prices.of(judge, Decimal(1))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="drafts")

    def __enter__(self) -> "DraftLedger":
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.submit(connection.close)
        self._thread.shutdown()

    async def open(self, question: JudgeQuestion, number: int, parameters: Parameters) -> None:
        if runtime.is_stopping():
            raise Halted("The worker is ending.")
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
        """Hold the highest cost of a request. Raises `OverBudget`, `BudgetInUse` or `Halted`."""
        current = DraftingJob.objects.select_for_update(no_key=True).filter(
            pk=self._job.pk, state=DraftingJob.State.RUNNING, attempts=self._job.attempts
        )
        if not current.exists():
            raise Halted("The job has ended, or another worker has it.")
        most = price(self._prices, most_of(question, reply_tokens=self._room)) or 0
        self._check_budget(most)
        ProfileDraft.objects.filter(pk=question.id).update(
            state=ProfileDraft.State.SENT, requests=F("requests") + 1, held_nano=most
        )

    def _check_budget(self, most: int) -> None:
        if self._job.budget is None:
            return
        if self._prices is None:
            raise OverBudget(
                "The judge has no price, so the budget cannot be kept: unknown is not free. Set "
                "its input and output price, or ask without a budget."
            )
        used = self._job.drafts.aggregate(
            nano=Sum(F("spent_nano") + F("held_nano"), default=0),
            live=Count("pk", filter=Q(state=ProfileDraft.State.SENT)),
        )
        if used["nano"] + most <= self._job.budget * NANO:
            return
        if used["live"]:
            raise BudgetInUse("The requests under way may use up the rest of the budget.")
        raise OverBudget(
            f"The budget of ${self._job.budget.normalize():f} has no room for another request: "
            f"${used['nano'] / NANO:.4f} spent, and one more can cost up to ${most / NANO:.4f}. "
            "Ask again with a higher budget for the rest."
        )

    def _close(self, question: JudgeQuestion, end: AttemptEnd, outcome: Outcome) -> None:
        usage = end.usage
        if usage is None and end.maybe_billed:
            usage = most_of(question, reply_tokens=self._room)
        values: dict[str, Any] = {
            "held_nano": 0,
            "spent_nano": F("spent_nano") + (price(self._prices, usage) or 0),
            "state": ProfileDraft.State.WAITING,
            "error": end.error,
        }
        if usage is not None:
            values["prompt_tokens"] = F("prompt_tokens") + usage.prompt_tokens
            values["completion_tokens"] = F("completion_tokens") + usage.completion_tokens
        if isinstance(outcome, JudgeAnswer):
            is_done = outcome.state == "done"
            values |= {
                "state": ProfileDraft.State.WRITTEN if is_done else ProfileDraft.State.FAILED,
                "model": outcome.model[:200],
                "reply": outcome.text,
                "text": usable(outcome.text) if is_done else "",
                "error": "" if is_done else outcome.error,
            }
        ProfileDraft.objects.filter(pk=question.id).update(**values)
