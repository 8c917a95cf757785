"""The requests of a job: stored before they are sent, within its budget, never sent twice.

A run has its own ledger; this is for the few questions of jobs that ask a judge for texts.
"""

import asyncio
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from django.db import connection, transaction
from django.db.models import Count, F, Q, QuerySet, Sum

from judging.backends.kinds import backend_kinds
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
from judging.errors import BadJudge
from judging.models import NANO, Judge
from judging.models.job_requests import FAILED, SENT, WAITING, WRITTEN, AskingJob
from judging.worker import runtime
from judging.worker.budgets import Prices, most_of, price
from judging.worker.endpoints import check_sharing, reply_limit
from studies.jobs.runner import JobProblem

AT_ONCE = 50  # questions waiting for slots at a time
_SEEDS = 2**31

T = TypeVar("T")


def judges_that_write() -> QuerySet[Judge]:
    """Judges whose model can be asked anything: not imported files."""
    kinds = [
        kind.name
        for kind in backend_kinds()
        if (kind.capabilities.needs_endpoint or kind.capabilities.is_local)
        and not kind.capabilities.only_probabilities
    ]
    return Judge.objects.filter(is_retired=False, backend__in=kinds).order_by("name")


def judges_named(names: Sequence[str]) -> list[Judge]:
    """The judges with these names, which can write. Raises `BadJudge` that lists those."""
    known = {judge.name: judge for judge in judges_that_write()}
    for name in names:
        if name not in known:
            others = f"Judges that can: {', '.join([*known][:20])}."
            raise BadJudge(
                f"No judge “{name}” can write texts. "
                + (others if known else "No judge can yet. Add one with add_judge first.")
            )
    return [known[name] for name in names]


class WrittenReply:
    """`engine.interface.ReplyFormat` of a text that `read_fields` can use.

    `read_fields` returns the fields to store with the request; none if it must be asked again.
    """

    offers_tie = False

    def __init__(self, read_fields: Callable[[str], Mapping[str, Any]]) -> None:
        self.read_fields = read_fields

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
        """Side A means a usable text."""
        return Verdict("A" if self.read_fields(text) else None, None)

    def form(self) -> Mapping[str, Any]:
        return {}


def ask_waiting(
    job: AskingJob,
    waiting: QuerySet[Any],
    *,
    messages: Callable[[Any], Messages],
    reply: WrittenReply,
    progress: Callable[[int, int], None],
) -> None:
    """Ask the job's judge for each row of `waiting` that has no reply yet.

    `waiting` are rows of a `JobRequest`, `messages` makes the prompt of one, and `progress` gets
    the number of rows that are over and of all. Raises `JobProblem` if an outage, the budget or an
    error ended it, and `BadJudge` if the items must not be sent to the judge.
    """
    judge = checked_judge(job, job.judge, job.judge_name)
    count_lost_requests(waiting)
    total = waiting.count()
    open_rows = waiting.filter(state=WAITING)
    with JobLedger(job, judge, waiting.model, reply) as ledger:
        while rows := list(open_rows.order_by("pk")[:AT_ONCE]):
            progress(total - open_rows.count(), total)
            ledger.ask([(row, messages(row)) for row in rows])


def checked_judge(job: AskingJob, judge: Judge | None, name: str) -> Judge:
    """Return the judge if it may be asked. Raises `JobProblem` or `BadJudge`."""
    if judge is None:
        raise JobProblem(f"The judge “{name}” was deleted.")
    check_sharing(job.study, judge)
    return judge


def count_lost_requests(rows: QuerySet[Any]) -> None:
    """Reset requests of a killed worker. Their highest cost stays counted; they are sent again."""
    rows.filter(state=SENT).update(
        state=WAITING, spent_nano=F("spent_nano") + F("held_nano"), held_nano=0
    )


class JobLedger:
    """`engine.interface.AttemptLedger` of the requests of one job, written by one thread in turn.

    Use it as a context manager, which ends its thread and database connection.
    """

    def __init__(self, job: AskingJob, judge: Judge, rows: type[Any], reply: WrittenReply) -> None:
        self.budget_queue = BudgetQueue()
        self._job, self._room, self._rows = job, reply_limit(judge), rows.objects.filter(job=job)
        # Ask for plain text, whatever reply form the judge uses for verdicts.
        self._judge = copy.copy(judge)
        self._judge.structured, self._judge.probabilities = False, "no"
        self._prices, self._reply = Prices.of(judge, Decimal(1)), reply
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="requests")

    def __enter__(self) -> "JobLedger":
        return self

    def __exit__(self, *_: object) -> None:
        # Looked up there: each thread has a connection of its own.
        self._thread.submit(lambda: connection.close())
        self._thread.shutdown()

    def ask(
        self,
        rows: Iterable[tuple[Any, Messages]],
        *,
        kept: str = "What was received so far is below.",
    ) -> None:
        """Ask for rows by their messages, and store what arrives.

        Raises `JobProblem` if an outage or the budget ends it, with the sentence `kept`, and any
        other error of a question.
        """
        questions = []
        for row, messages in rows:
            self._rows.filter(pk=row.pk).update(prompt_sha256=prompt_sha256(messages))
            seed = (self._job.study.seed + row.pk) % _SEEDS
            questions.append(JudgeQuestion(row.pk, messages, protocol=self._reply, seed=seed))
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
        jobs = type(self._job)._default_manager.select_for_update(no_key=True)
        current = jobs.filter(
            pk=self._job.pk, state=self._job.State.RUNNING, attempts=self._job.attempts
        )
        if not current.exists():
            raise Halted("The job has ended, or another worker has it.")
        most = price(self._prices, most_of(question, reply_tokens=self._room)) or 0
        self._check_budget(most)
        self._rows.filter(pk=question.id).update(
            state=SENT, requests=F("requests") + 1, held_nano=most
        )

    def _check_budget(self, most: int) -> None:
        if self._job.budget is None:
            return
        if self._prices is None:
            raise OverBudget(
                "The judge has no price, so the budget cannot be checked. Set "
                "its input and output price, or ask without a budget."
            )
        used = self._rows.aggregate(
            nano=Sum(F("spent_nano") + F("held_nano"), default=0),
            live=Count("pk", filter=Q(state=SENT)),
        )
        if used["nano"] + most <= self._job.budget * NANO:
            return
        if used["live"]:
            raise BudgetInUse("The requests in progress may use up the rest of the budget.")
        raise OverBudget(
            f"The budget of ${self._job.budget.normalize():f} is too small for another request: "
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
            "state": WAITING,
            "error": end.error,
        }
        if usage is not None:
            values["prompt_tokens"] = F("prompt_tokens") + usage.prompt_tokens
            values["completion_tokens"] = F("completion_tokens") + usage.completion_tokens
        if isinstance(outcome, JudgeAnswer):
            is_done = outcome.state == "done"
            values |= {
                "state": WRITTEN if is_done else FAILED,
                "model": outcome.model[:200],
                "reply": outcome.text,
                # A judge of pairs would name a side; this one writes a text.
                "error": "" if is_done else outcome.error.replace("names a side", "can be used"),
            }
            values |= self._reply.read_fields(outcome.text) if is_done else {}
        self._rows.filter(pk=question.id).update(**values)
