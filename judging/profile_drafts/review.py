"""Accepting a profile text, as it is or edited, or rejecting it."""

from django.contrib.auth.models import User
from django.db import transaction

from judging.models import ProfileDraft
from studies.errors import StaleVersion
from studies.importers.editing import edit_persona, record_of
from studies.models import Study
from studies.services.studies import lock_study, record
from studies.statements import clock


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
