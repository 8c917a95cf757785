"""Discards packs: their questions are open again, here or for another pack."""

from django.contrib.auth.models import User
from django.db import transaction

from extras.packs.models import Pack
from judging.engine.interface import AttemptEnd
from judging.models import JudgeRun, Judgment
from judging.worker import batch_requests, chunks
from studies.services.studies import lock_study, record
from studies.statements import clock

_DISCARDED = "The pack was discarded before a reply was imported."
_OPEN_AGAIN = (
    "Its pack was discarded. Resume the run to ask its questions here, or write another pack."
)


@transaction.atomic
def discard_packs(*, run_id: int, user: User | None = None) -> bool:
    """Stop waiting for the replies to the packs of a run; False if it has no open pack.

    Replies that come later are refused. What they cost elsewhere is not known here.
    """
    run = JudgeRun.objects.select_related("judge", "study").get(pk=run_id)
    lock_study(run.study_id)
    packs = list(run.packs.filter(state=Pack.State.WAITING))
    for pack in packs:
        _discard(pack, run)
    if not packs:
        return False
    resting = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.RESUMABLE)
    resting.update(sentence=_OPEN_AGAIN)
    record(run.study, "pack discarded", user=user, run=run.public_id)
    return True


def _discard(pack: Pack, run: JudgeRun) -> None:
    questions = batch_requests.open_questions(run, pack.public_id)
    judgments = Judgment.objects.filter(lease=pack.public_id)
    rows = batch_requests.ledger_rows(run, pack.public_id, judgments)
    end = AttemptEnd("expired", None, error=_DISCARDED)
    batch_requests.store([rows.closing(q, q.attempts, end, q.replies, None) for q in questions])
    chunks.release(judgments)
    Pack.objects.filter(pk=pack.pk).update(
        state=Pack.State.DISCARDED, sentence=_DISCARDED, ended_at=clock.now()
    )
