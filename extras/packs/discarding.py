"""Discards packs: their questions are open again, here or for another pack."""

from django.contrib.auth.models import User
from django.db import transaction

from judging.engine.interface import AttemptEnd
from judging.models import Batch, JudgeRun, Judgment
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
    packs = list(run.batches.filter(is_pack=True, state__in=Batch.OPEN))
    for pack in packs:
        _discard(pack, run)
    if not packs:
        return False
    resting = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.RESUMABLE)
    resting.update(sentence=_OPEN_AGAIN)
    record(run.study, "pack discarded", user=user, run=run.public_id)
    return True


def _discard(pack: Batch, run: JudgeRun) -> None:
    questions = batch_requests.open_questions(pack, run)
    judgments = Judgment.objects.filter(lease=pack.public_id)
    rows = batch_requests.ledger_rows(run, pack, judgments)
    end = AttemptEnd("expired", None, error=_DISCARDED)
    batch_requests.store([rows.closing(q, q.attempts, end, q.replies, None) for q in questions])
    chunks.release(judgments)
    Batch.objects.filter(pk=pack.pk).update(
        state=Batch.State.FAILED, sentence=_DISCARDED, ended_at=clock.now()
    )
