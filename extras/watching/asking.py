"""Ask a run's questions again. These judgments cost money and count nowhere else."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, QuerySet

from judging.errors import BadRun
from judging.models import JudgeRun, Judgment
from judging.runs import lifecycle
from judging.runs.costs import usage_of
from judging.runs.judges import keep_exact
from judging.tasks import call_workers
from judging.worker import runtime
from judging.worker.endpoints import backend_maker, check_sharing
from studies.money import format_cost
from studies.services.studies import lock_study, record
from studies.statements import clock

_POLL_SECONDS = 0.5
AGAIN = Judgment.Anchor.AGAIN
_IMPORTED = (
    "The judgments of “{judge}” were imported, so it cannot be asked again. Import new judgments "
    "of the same items under another name, and compare with those."
)
_UNFINISHED = (
    "Run {run} has unanswered questions of its own, which would be asked too. "
    "Continue or cancel it first."
)


@dataclass(frozen=True)
class Round:
    """Questions of a run that were repeated together; `number` starts at 1."""

    run: JudgeRun
    number: int

    @property
    def judgments(self) -> QuerySet[Judgment]:
        return _of_round(self.run, self.number)

    def sample_of(self, judgment: Judgment) -> int:
        """The sample of the run that a judgment repeats."""
        return (judgment.sample - 1) % self.run.samples + 1


@transaction.atomic
def ask_again(
    run: JudgeRun,
    questions: Iterable[tuple[int, str, int]],
    *,
    enqueue: bool = True,
    user: User | None = None,
) -> Round:
    """Start a round of questions, each an item's id, the response shown first and the sample.

    An incomplete round is continued, so that no answer is paid for twice. An unstored `run` has no
    other questions. Raises `BadRun` or `BadJudge`.
    """
    if run.is_imported:
        raise BadRun(_IMPORTED.format(judge=run.judge.name))
    study = lock_study(run.study_id)
    keep_exact(run.judge)
    backend_maker(run.judge)
    check_sharing(study, run.judge)
    if run.pk is None:
        run.save()
    open_there = Judgment.objects.filter(run=run, state__in=Judgment.OPEN)
    if not run.is_active and open_there.exists():
        raise BadRun(_UNFINISHED.format(run=run.public_id))
    number = _number_of(run)
    before = (number - 1) * run.samples
    there = set(_of_round(run, number).values_list("item_id", "shown_first", "sample"))
    wanted = {(item, first, before + sample) for item, first, sample in questions}
    Judgment.everything.bulk_create(
        Judgment(run=run, item_id=item, shown_first=first, sample=sample, anchor=AGAIN)
        for item, first, sample in sorted(wanted - there)
    )
    _of_round(run, number).filter(state=Judgment.State.ERROR).update(
        state=Judgment.State.PENDING, error=""
    )
    _wake(run)
    record(study, "judge run asked again", user=user, run=run.public_id, judgments=len(wanted))
    if enqueue:
        call_workers(run)
    return Round(run, number)


def _number_of(run: JudgeRun) -> int:
    """The number of the round to ask: the last one, or the next if the last is complete."""
    last = Judgment.everything.filter(run=run, anchor=AGAIN).aggregate(last=Max("sample"))["last"]
    number: int = -(-(last or 0) // run.samples)
    left = (*Judgment.OPEN, Judgment.State.ERROR)
    is_complete = number == 0 or not _of_round(run, number).filter(state__in=left).exists()
    return number + 1 if is_complete else number


def _of_round(run: JudgeRun, number: int) -> QuerySet[Judgment]:
    last = number * run.samples
    samples = (last - run.samples + 1, last)
    return Judgment.everything.filter(run=run, anchor=AGAIN, sample__range=samples)


def _wake(run: JudgeRun) -> None:
    """Queue an ended run; not as a batch, because the caller waits for the answers."""
    same = JudgeRun.objects.filter(pk=run.pk)
    same.exclude(state=JudgeRun.State.RUNNING).update(
        state=JudgeRun.State.QUEUED,
        sentence="",
        ended_at=None,
        by_batch=False,
        touched_at=clock.now(),
    )
    run.refresh_from_db(fields=["state", "sentence", "by_batch"])


def rounds_of(run: JudgeRun) -> list[Round]:
    """The rounds of a stored run, in order."""
    last = Judgment.everything.filter(run=run, anchor=AGAIN).aggregate(last=Max("sample"))["last"]
    return [Round(run, number) for number in range(1, -(-(last or 0) // run.samples) + 1)]


def wait_for(asked: Round, *, inline: bool) -> None:
    """Ask a round's questions in this process, or wait for the workers."""
    if inline:
        try:
            lifecycle.work_off(run_id=asked.run.pk)
        finally:
            runtime.shut_down()
    else:
        while asked.run.is_active:
            time.sleep(_POLL_SECONDS)
            asked.run.refresh_from_db()


def cost_words(run: JudgeRun, questions: int) -> str:
    """How many questions are asked, and their price by the run's own."""
    usage = usage_of(run) if run.pk else None
    dollars = None if usage is None else usage.dollars(run.judge, questions, by_batch=False)
    price = "price unknown" if dollars is None else f"about ${format_cost(float(dollars))}"
    return f"{run.judge.name}: {questions:,} questions, {price}."
