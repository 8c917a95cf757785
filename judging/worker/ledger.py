"""The ledger of a run in the database: attempts before they are sent, answers on arrival.

What is filled in here is written in one transaction by `ledger_statements.py`, in the thread of
`writer.py`.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from judging.engine.interface import (
    AttemptEnd,
    BudgetInUse,
    BudgetQueue,
    Halted,
    JudgeAnswer,
    JudgeQuestion,
    LedgerFailed,
    Outcome,
    Parameters,
    Stopped,
    Usage,
)
from judging.models import JudgeRun
from judging.worker.budgets import Prices, length_in_bytes, most_of, price
from judging.worker.endpoints import reply_limit
from judging.worker.writer import Writer
from studies.models import Choice, Side
from studies.statements import clock


@dataclass(frozen=True, slots=True)
class Opening:
    run_id: int
    judgment_id: int
    number: int
    sent_at: datetime
    most_nano: int | None  # its maximum cost, which stays if no answer ever comes
    most: Usage
    parameters: Parameters | None = None  # None if nothing is sent
    lease: str = ""  # under which the judgment is asked


@dataclass(frozen=True, slots=True)
class Closing:
    run_id: int
    study_id: int
    judgment_id: int
    lease: str
    number: int
    end: AttemptEnd
    usage: Usage | None
    usage_is_estimate: bool
    cost_nano: int | None
    replies: int
    answer: JudgeAnswer | None
    choice: str
    probabilities: str | None  # as JSON
    details: str | None  # as JSON
    earlier: str | None  # the replies to the steps that are over, as JSON
    freezes: bool


class RunLedger:
    """`engine.interface.AttemptLedger` of one leased chunk of a run."""

    def __init__(
        self,
        *,
        writer: Writer,
        rows: "LedgerRows",
        budget_queue: BudgetQueue,
        is_stopping: Callable[[], bool],
        on_answer: Callable[[JudgeAnswer], Awaitable[None]] | None = None,
    ) -> None:
        self.budget_queue = budget_queue
        self._writer = writer
        self._rows = rows
        self._is_stopping = is_stopping
        self._on_answer = on_answer
        self._under_way: dict[int, float] = {}  # since when, by question

    @property
    def oldest(self) -> float | None:
        """The start of the oldest request under way; None if there is none."""
        return min(self._under_way.copy().values(), default=None)

    async def open(self, question: JudgeQuestion, number: int, parameters: Parameters) -> None:
        if self._is_stopping():
            raise Halted("The worker is shutting down.")
        self._under_way[question.id] = time.monotonic()
        try:
            await self._writer.write(self._rows.opening(question, number, parameters))
        except (Stopped, BudgetInUse, LedgerFailed):
            del self._under_way[question.id]  # nothing is sent
            raise

    async def close(
        self,
        question: JudgeQuestion,
        number: int,
        end: AttemptEnd,
        replies: int,
        outcome: Outcome,
    ) -> None:
        await self._writer.write(self._rows.closing(question, number, end, replies, outcome))
        self._under_way.pop(question.id, None)
        self.budget_queue.notify()
        if self._on_answer and isinstance(outcome, JudgeAnswer):
            await self._on_answer(outcome)


class LedgerRows:
    """Creates rows for the questions of one lease, with the judge's prices and the budget's room.

    `price_share` is the part of the price that these requests cost.
    """

    def __init__(
        self,
        run: JudgeRun,
        lease: str,
        sides: Mapping[int, str],
        *,
        price_share: Decimal = Decimal(1),
    ) -> None:
        judge = run.judge
        self._run_id, self._study_id, self._lease = run.pk, run.study_id, lease
        self._sides = sides
        self._freezes = run.study.frozen_at is None  # saves a query per batch later
        self._room, self._thinks = reply_limit(judge), judge.thinking_tokens > 0
        self._prices = Prices.of(judge, price_share)

    def opening(self, question: JudgeQuestion, number: int, parameters: Parameters) -> Opening:
        most = self.most(question)
        return Opening(
            self._run_id,
            question.id,
            number,
            clock.now(),
            price(self._prices, most),
            most,
            parameters if parameters.values else None,
            self._lease,
        )

    def closing(
        self,
        question: JudgeQuestion,
        number: int,
        end: AttemptEnd,
        replies: int,
        outcome: Outcome,
    ) -> Closing:
        usage, is_estimate = end.usage, False
        if usage is None and end.maybe_billed:
            is_estimate = True
            usage = self._guess(question, end.text) if end.text else self.most(question)
        contents = contents_of(self._sides[question.id])
        answer = outcome if isinstance(outcome, JudgeAnswer) else None
        following = outcome if isinstance(outcome, JudgeQuestion) else None
        earlier = (following or question).earlier
        details = _by_response(answer.details, contents) if answer else None
        sides = (following or question).probabilities
        if answer and answer.probabilities is not None:
            sides = answer.probabilities
        return Closing(
            run_id=self._run_id,
            study_id=self._study_id,
            judgment_id=question.id,
            lease=self._lease,
            number=number,
            end=end,
            usage=usage,
            usage_is_estimate=is_estimate,
            cost_nano=price(self._prices, usage),
            replies=0 if following else replies,
            answer=answer,
            choice=contents[answer.side] if answer and answer.side else "",
            probabilities=_probabilities(sides, contents),
            details=json.dumps(details) if details else None,
            earlier=json.dumps(earlier) if earlier else None,
            freezes=self._freezes,
        )

    def most(self, question: JudgeQuestion) -> Usage:
        return most_of(question, reply_tokens=self._room)

    def _guess(self, question: JudgeQuestion, text: str) -> Usage:
        """The highest possible usage of a reply without reported usage."""
        most = self.most(question)
        if self._thinks:  # thinking does not show in the reply's text
            return most
        return Usage(most.prompt_tokens, min(self._room, length_in_bytes(text) + 1))


def contents_of(shown_first: str) -> dict[str, str]:
    """The responses behind the prompt's letters."""
    second = Side.R2 if shown_first == Side.R1 else Side.R1
    return {"A": str(shown_first), "B": str(second), "C": str(Choice.TIE)}


def _probabilities(
    probabilities: Mapping[Any, float] | None, contents: Mapping[str, str]
) -> str | None:
    if probabilities is None:
        return None
    return json.dumps({contents[side]: share for side, share in probabilities.items()})


def _by_response(details: Any, contents: Mapping[str, str]) -> Any:
    """Details of an answer, with responses in place of the prompt's letters, as keys and values."""
    if isinstance(details, Mapping):
        return {contents.get(key, key): _by_response(of, contents) for key, of in details.items()}
    return contents.get(details, details) if isinstance(details, str) else details
