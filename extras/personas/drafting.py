"""Profile texts: the prompt, the work of the worker, and the review."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from extras.personas.models import DraftingJob, ProfileDraft
from judging.engine.messages import (
    Messages,
    from_user,
    length,
    looks_like_refusal,
    without_thoughts,
)
from judging.errors import JudgingError
from judging.models import Judge
from judging.runs.costs import RunUsage
from judging.worker.endpoints import check_sharing
from judging.worker.job_requests import WrittenReply, ask_waiting
from studies.errors import StaleVersion, StudyError
from studies.importers.editing import edit_persona, record_of
from studies.importers.items.storage import why_not
from studies.jobs.runner import JobProgress, carry_out
from studies.models import Item, Persona, Study
from studies.personas import build_profile
from studies.services.studies import lock_study, record
from studies.statements import clock
from studies.texts.normalisation import digest
from studies.texts.slots import HistoryEntry

SHORTEST, LONGEST = 40, 1_500  # letters
_MOST_CHOICES = 50
_LONGEST_TEXT = 1_200  # letters of each text of a choice
_LETTERS_PER_TOKEN, _USUAL_TOKENS = 4, 150  # of prompts; of a reply of five sentences

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


DESCRIPTION = WrittenReply(lambda reply: {"text": text} if (text := usable(reply)) else {})


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"


def needed(study: Study) -> Iterator[str]:
    """What has to end before changed personas can be turned off."""
    if DraftingJob.objects.filter(study=study, state__in=DraftingJob.OPEN).exists():
        yield "A judge is writing profile texts. Wait until it has finished."


@dataclass(frozen=True)
class DraftCost:
    """What the missing texts are expected to cost; no dollars without prices."""

    texts: int
    tokens: int
    dollars: Decimal | None


def cost_of(study: Study, judge: Judge) -> DraftCost:
    """About what `request_drafts` would cost if no reply has to be asked for again."""
    prompts = [length(_messages_to(persona)) for persona in without_draft(study)]
    texts = len(prompts)
    sent = sum(prompts) / texts / _LETTERS_PER_TOKEN if texts else 0.0
    usage = RunUsage(sent, judge.thinking_tokens + _USUAL_TOKENS, None)
    dollars = usage.dollars(judge, texts, by_batch=False)
    return DraftCost(texts, round(usage.tokens * texts), dollars)


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
    if other := DraftingJob.objects.filter(study=study, state__in=DraftingJob.OPEN).first():
        raise StudyError(
            f"“{other.judge_name}” is writing profile texts already. Wait until it has finished. "
            "If its process was stopped, try again in a minute."
        )
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
    ProfileDraft.objects.bulk_create(ProfileDraft(job=job, persona=persona) for persona in personas)
    record(study, "profile texts requested", user=user, judge=judge.name, personas=len(personas))
    return job


def without_draft(study: Study) -> list[Persona]:
    """Personas of items that have earlier choices but no text to review or in use."""
    states = [ProfileDraft.State.WRITTEN, ProfileDraft.State.ACCEPTED]
    drafted = ProfileDraft.objects.filter(persona__study=study, state__in=states)
    asked = Item.objects.filter(study=study).values("persona")
    personas = Persona.objects.filter(study=study, pk__in=asked).exclude(history=[])
    return list(personas.exclude(pk__in=drafted.values("persona")).order_by("key"))


def run_job(*, job_id: int) -> DraftingJob:
    """Request every draft of a queued job that has no reply yet."""
    return carry_out(DraftingJob, job_id, _work, expected=(StudyError, JudgingError))


def _work(job: DraftingJob, progress: JobProgress) -> dict[str, Any]:
    ask_waiting(
        job,
        job.drafts.select_related("persona"),
        messages=_messages_about,
        reply=DESCRIPTION,
        progress=lambda done, total: progress(
            100 * done // total, f"Writing: {done:,} of {total:,}."
        ),
    )
    written = job.drafts.filter(state=ProfileDraft.State.WRITTEN).count()
    failed = job.drafts.filter(state=ProfileDraft.State.FAILED).count()
    without = f" {failed:,} without a usable reply." if failed else ""
    return {"message": f"{written:,} texts await your review.{without}"}


def _messages_about(draft: ProfileDraft) -> Messages:
    return _messages_to(draft.persona)


def _messages_to(persona: Persona) -> Messages:
    history = build_profile(persona, show_history=len(persona.history)).history
    return messages_for(list(history))


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
