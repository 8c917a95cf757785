"""Profile texts: requesting them, the worker's part of it, and the review of each text."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet

from extras.personas.ledger import DraftLedger
from extras.personas.models import DraftingJob, ProfileDraft
from extras.personas.prompt import PROMPT_SHA256, PersonaDescription, messages_for
from judging.backends import registry
from judging.engine.interface import JudgeQuestion, Stopped
from judging.engine.messages import prompt_sha256
from judging.errors import JudgingError
from judging.models import Judge
from judging.worker import runtime
from judging.worker.provider_permission import check_sharing
from studies.errors import StaleVersion, StudyError
from studies.importers.editing import edit_persona, record_of
from studies.importers.items.replacement import why_not
from studies.jobs.errors import JobFailed
from studies.jobs.runner import JobProgress, carry_out
from studies.models import Item, Persona, Study
from studies.personas.profile_text import build_profile
from studies.services.studies import lock_study, record
from studies.statements import clock

_AT_ONCE = 50  # questions that wait for slots together
_SEED = 2**31


@transaction.atomic
def request_drafts(
    *, study_id: int, judge: Judge, budget: Decimal | None, user: User | None
) -> DraftingJob:
    """A job for all personas with earlier choices that have no text waiting or accepted.

    Raises `StudyError` if the items of the study are in use, if nothing is to be written or a job
    is under way, and `BadJudge` if the items must not be sent to the judge.
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
            "No persona is left to write about: each one has no earlier choices (“history”), or a "
            "text that was accepted or waits for your review."
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
    """The personas of items that have earlier choices, and no text to review or in use."""
    states = [ProfileDraft.State.WRITTEN, ProfileDraft.State.ACCEPTED]
    drafted = ProfileDraft.objects.filter(persona__study=study, state__in=states)
    shown = Item.objects.filter(study=study).values("persona")
    personas = Persona.objects.filter(study=study, pk__in=shown).exclude(history=[])
    return list(personas.exclude(pk__in=drafted.values("persona")).order_by("key"))


def judges_that_write() -> QuerySet[Judge]:
    """The judges that can be asked anything: a model answers, not a file."""
    kinds = [
        kind.name
        for kind in registry.backend_kinds()
        if kind.capabilities.needs_endpoint or kind.capabilities.is_local
    ]
    return Judge.objects.filter(is_retired=False, backend__in=kinds).order_by("name")


def run_job(*, job_id: int) -> DraftingJob:
    """Ask about every draft of a queued job that has no reply yet."""
    return carry_out(DraftingJob, job_id, _work, expected=(StudyError, JudgingError))


def _work(job: DraftingJob, progress: JobProgress) -> dict[str, Any]:
    judge = job.judge
    if judge is None:
        raise JobFailed(f"The judge “{job.judge_name}” was deleted.")
    check_sharing(job.study, judge)
    _count_lost_requests(job)
    # Plain text is wanted, whatever form the judge's verdicts have.
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
    return {"message": f"{written:,} texts wait for your review.{without}"}


def _count_lost_requests(job: DraftingJob) -> None:
    """Requests of a killed worker: their highest cost stays counted, and they are asked again."""
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
    """An outage, a budget or an error that ended a question ends the job, with its sentence."""
    for problem in problems:
        if isinstance(problem, Stopped):
            raise JobFailed(f"{problem} What has arrived is below.")
        if problem is not None:
            raise problem


@transaction.atomic
def accept(*, study: Study, draft_id: str, text: str, user: User) -> ProfileDraft:
    """Make `text` the free text of the persona, at all its items; the reply is kept beside it.

    Raises `Refused` for a text that breaks a rule of the item format, `StaleVersion` if somebody
    else has decided meanwhile, and `StudyError` if anything depends on the items.
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
    """Leave the persona as it is. Raises `StaleVersion` if somebody else has decided."""
    lock_study(study.pk)
    return _decide(_open_draft(study, draft_id), ProfileDraft.State.REJECTED, text="", user=user)


def _open_draft(study: Study, draft_id: str) -> ProfileDraft:
    draft = (
        ProfileDraft.objects.select_related("persona", "job")
        .filter(persona__study=study, public_id=draft_id, state=ProfileDraft.State.WRITTEN)
        .first()
    )
    if draft is None:
        raise StaleVersion("Somebody else has decided about this text.")
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
