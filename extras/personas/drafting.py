"""Profile texts: the prompt, the ledger, the work of the worker, and the review."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Count, F, Q, QuerySet, Sum

from extras.personas.models import DraftingJob, ProfileDraft
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
from judging.engine.messages import (
    Messages,
    from_user,
    looks_like_refusal,
    prompt_sha256,
    without_thoughts,
)
from judging.errors import JudgingError
from judging.models import NANO, Judge
from judging.worker import runtime
from judging.worker.endpoints import reply_limit
from judging.worker.ledger import Prices, most_of, price
from judging.worker.questions import check_sharing
from studies.errors import StaleVersion, StudyError
from studies.importers.editing import edit_persona, record_of
from studies.importers.items.storage import why_not
from studies.jobs.runner import JobProblem, JobProgress, carry_out
from studies.models import Item, Persona, Study
from studies.personas import build_profile
from studies.services.studies import lock_study, record
from studies.statements import clock
from studies.texts.normalisation import digest
from studies.texts.slots import HistoryEntry

SHORTEST, LONGEST = 40, 1_500  # letters
_MOST_CHOICES = 50
_LONGEST_TEXT = 1_200  # letters of each text of a choice

ASKED = (
    "Below are earlier choices of one person: a question, the response that this person preferred, "
    "and the one that they turned down.\n\n"
    "{choices}\n\n"
    "Describe in three to five sentences what these choices tell about the person: what matters to "
    "them, which style and which content they prefer. Say only what the choices support. Do not "
    "quote the questions or responses, do not guess age, gender, origin or politics, and do not "
    "address anybody. Write in the language of the choices, beginning with the description itself."
)
# Identifies the constant words; the choices differ for each persona.
PROMPT_SHA256 = digest(ASKED)


def messages_for(history: list[HistoryEntry]) -> Messages:
    """The prompt about a persona: its latest choices, with long texts cut and marked."""
    choices = [
        f"Choice {number}\nQuestion: {_cut(choice.prompt)}\nPreferred: {_cut(choice.chosen)}\n"
        f"Turned down: {_cut(choice.rejected) or 'not known'}"
        for number, choice in enumerate(history[-_MOST_CHOICES:], 1)
    ]
    return from_user(ASKED.format(choices="\n\n".join(choices)))


def usable(reply: str) -> str:
    """The description in a reply; empty if a person could not review it."""
    text = without_thoughts(reply).strip().strip('"“”').strip()
    if not SHORTEST <= len(text) <= LONGEST or looks_like_refusal(text):
        return ""
    return text


class PersonaDescription:
    """`engine.interface.ReplyFormat` of a description: side A means a usable text."""

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
        return Verdict("A" if usable(text) else None, None)

    def form(self) -> Mapping[str, Any]:
        return {}


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"


T = TypeVar("T")


class DraftLedger:
    """`engine.interface.AttemptLedger` of the drafts of one job, written by one thread in turn.

    Use it as a context manager, which ends its thread and database connection.
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
                "The judge has no price, so the budget cannot be checked. Set "
                "its input and output price, or ask without a budget."
            )
        used = self._job.drafts.aggregate(
            nano=Sum(F("spent_nano") + F("held_nano"), default=0),
            live=Count("pk", filter=Q(state=ProfileDraft.State.SENT)),
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


_AT_ONCE = 50  # questions waiting for slots at a time
_SEED = 2**31


@transaction.atomic
def request_drafts(
    *, study_id: int, judge: Judge, budget: Decimal | None, user: User | None
) -> DraftingJob:
    """Create a job for all personas with earlier choices but no waiting or accepted text.

    Raises `StudyError` if the study's items are in use, no text is needed or a job is in progress,
    and `BadJudge` if the items must not be sent to the judge.
    """
    study = lock_study(study_id)
    if reason := why_not(study):
        raise StudyError(reason)
    check_sharing(study, judge)
    if DraftingJob.objects.filter(study=study, state__in=DraftingJob.OPEN).exists():
        raise StudyError("A judge is writing profile texts already. Wait until it has finished.")
    personas = without_draft(study)
    if not personas:
        raise StudyError(
            "No persona needs a text: each one has no earlier choices (“history”), or has a text "
            "that was accepted or awaits your review."
        )
    job = DraftingJob.objects.create(
        study=study,
        judge=judge,
        judge_name=judge.name,
        prompt_sha256=PROMPT_SHA256,
        budget=budget,
        requested_by=user,
    )
    ProfileDraft.objects.bulk_create(ProfileDraft(job=job, persona=each) for each in personas)
    record(study, "profile texts requested", user=user, judge=judge.name, personas=len(personas))
    return job


def without_draft(study: Study) -> list[Persona]:
    """Personas of items that have earlier choices but no text to review or in use."""
    states = [ProfileDraft.State.WRITTEN, ProfileDraft.State.ACCEPTED]
    drafted = ProfileDraft.objects.filter(persona__study=study, state__in=states)
    shown = Item.objects.filter(study=study).values("persona")
    personas = Persona.objects.filter(study=study, pk__in=shown).exclude(history=[])
    return list(personas.exclude(pk__in=drafted.values("persona")).order_by("key"))


def judges_that_write() -> QuerySet[Judge]:
    """Judges whose model can be asked anything: not imported files."""
    kinds = [
        kind.name
        for kind in registry.backend_kinds()
        if (kind.capabilities.needs_endpoint or kind.capabilities.is_local)
        and not kind.capabilities.only_probabilities
    ]
    return Judge.objects.filter(is_retired=False, backend__in=kinds).order_by("name")


def run_job(*, job_id: int) -> DraftingJob:
    """Request every draft of a queued job that has no reply yet."""
    return carry_out(DraftingJob, job_id, _work, expected=(StudyError, JudgingError))


def _work(job: DraftingJob, progress: JobProgress) -> dict[str, Any]:
    judge = job.judge
    if judge is None:
        raise JobProblem(f"The judge “{job.judge_name}” was deleted.")
    check_sharing(job.study, judge)
    _count_lost_requests(job)
    # Ask for plain text, whatever reply form the judge uses for verdicts.
    judge.structured, judge.probabilities = False, "no"
    total = job.drafts.count()
    with DraftLedger(job, judge) as ledger:
        asker = runtime.asker(judge, ledger)
        while waiting := _next(job):
            done = total - job.drafts.filter(state=ProfileDraft.State.WAITING).count()
            progress(100 * done // total, f"Writing: {done:,} of {total:,}.")
            work = runtime.get().loop.submit(asker.ask_all(waiting))
            _raise_first(work.result())
    written = job.drafts.filter(state=ProfileDraft.State.WRITTEN).count()
    failed = job.drafts.filter(state=ProfileDraft.State.FAILED).count()
    without = f" {failed:,} without a usable reply." if failed else ""
    return {"message": f"{written:,} texts await your review.{without}"}


def _count_lost_requests(job: DraftingJob) -> None:
    """Reset requests of a killed worker. Their highest cost stays counted; they are sent again."""
    job.drafts.filter(state=ProfileDraft.State.SENT).update(
        state=ProfileDraft.State.WAITING, spent_nano=F("spent_nano") + F("held_nano"), held_nano=0
    )


def _next(job: DraftingJob) -> list[JudgeQuestion]:
    waiting = job.drafts.filter(state=ProfileDraft.State.WAITING).select_related("persona")
    questions = []
    for draft in waiting.order_by("pk")[:_AT_ONCE]:
        history = build_profile(draft.persona, show_history=len(draft.persona.history)).history
        messages = messages_for(list(history))
        ProfileDraft.objects.filter(pk=draft.pk).update(prompt_sha256=prompt_sha256(messages))
        seed = (job.study.seed + draft.pk) % _SEED
        questions.append(
            JudgeQuestion(id=draft.pk, messages=messages, protocol=PersonaDescription(), seed=seed)
        )
    return questions


def _raise_first(problems: Iterable[BaseException | None]) -> None:
    """End the job if an outage, the budget or an error ended a question."""
    for problem in problems:
        if isinstance(problem, Stopped):
            raise JobProblem(f"{problem} The texts received so far are below.")
        if problem is not None:
            raise problem


@transaction.atomic
def accept(*, study: Study, draft_id: str, text: str, user: User) -> ProfileDraft:
    """Make `text` the persona's free text in all its items, and keep the original reply.

    Raises `Refused` for a text that breaks the item format, `StaleVersion` if somebody else decided
    first, and `StudyError` if anything depends on the items.
    """
    lock_study(study.pk)
    draft = _open_draft(study, draft_id)
    persona = draft.persona
    edit_persona(
        study_id=study.pk,
        key=persona.key,
        features=persona.features,
        text=text,
        seen=record_of(persona).fingerprint,
        user=user,
    )
    return _decide(draft, ProfileDraft.State.ACCEPTED, text=text, user=user)


@transaction.atomic
def reject(*, study: Study, draft_id: str, user: User) -> ProfileDraft:
    """Leave the persona unchanged. Raises `StaleVersion` if somebody else decided first."""
    lock_study(study.pk)
    return _decide(_open_draft(study, draft_id), ProfileDraft.State.REJECTED, text="", user=user)


def _open_draft(study: Study, draft_id: str) -> ProfileDraft:
    draft = (
        ProfileDraft.objects.select_related("persona", "job")
        .filter(persona__study=study, public_id=draft_id, state=ProfileDraft.State.WRITTEN)
        .first()
    )
    if draft is None:
        raise StaleVersion("Somebody else has already decided about this text.")
    return draft


def _decide(draft: ProfileDraft, state: str, *, text: str, user: User) -> ProfileDraft:
    """Store the decision on a draft whose study is locked."""
    draft.state, draft.text, draft.reviewed_by = state, text, user
    draft.reviewed_at = clock.now()
    draft.save(update_fields=["state", "text", "reviewed_by", "reviewed_at"])
    record(
        draft.persona.study,
        f"profile text {state}",
        user=user,
        persona=draft.persona.key,
        judge=draft.job.judge_name,
        model=draft.model,
        edited=bool(text) and text.strip() != draft.reply.strip(),
    )
    return draft
