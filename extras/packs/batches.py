"""Packs that are batches of a provider, which answers them within a day at a lower price.

Before the file is submitted, the pack is stored, its judgments are leased and its attempts opened;
the provider gets the pack's name. After a crash, the next step looks for that name at the provider
before it submits the file again, and collects only open requests.
"""

import logging
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q

from extras.packs.ledger import (
    ReplyStore,
    close_open,
    end_pack,
    is_anything_waiting,
    lease_questions,
    open_requests,
)
from extras.packs.lines import RawReply, read_line
from extras.packs.models import Pack
from extras.packs.provider import BatchClient, BatchError
from judging.backends.completions import short
from judging.backends.openai import server_of
from judging.engine.interface import AttemptEnd, LearningBackend, Parameters
from judging.errors import BadJudge, BadRun
from judging.models import JudgeRun, Judgment
from judging.selectors import has_replies
from judging.worker import chunks, run_states, runtime
from judging.worker.budgets import room_of
from judging.worker.endpoints import check_sharing, judge_of, settings_of
from judging.worker.runtime import outlive_restart
from studies.statements import clock

if TYPE_CHECKING:
    from openai.types import Batch

logger = logging.getLogger(__name__)

FIRST_QUESTIONS = 3  # asked one by one before the first file until one is answered
LINES = 10_000  # of one file; the format allows 50,000 in 200 MB
BUSY = timedelta(minutes=5)  # the longest time that a process needs for a step
_ENDED = frozenset({"completed", "expired", "cancelled"})
_SHORTEST_POLL, _LONGEST_POLL = 1.0, 60.0


def follow_batches(*, queue: Callable[[int], object]) -> int:
    """Queue a step for every run with something to submit or collect; return how many."""
    waiting = JudgeRun.objects.filter(
        Q(packs__is_batch=True, packs__state__in=Pack.OPEN)
        | Q(by_batch=True, probe_first=False, state__in=JudgeRun.ACTIVE)
    ).distinct()
    run_ids = list(waiting.values_list("pk", flat=True))
    for run_id in run_ids:
        queue(run_id)
    return len(run_ids)


def advance_run(*, run_id: int) -> None:
    """Collect results and submit waiting questions; safe to repeat and to run in parallel.

    Batches of a run that was paused or stopped are collected too, because they are paid for.
    """
    run = JudgeRun.objects.select_related("judge", "study").get(pk=run_id)
    try:
        check_sharing(run.study, run.judge)
        client = BatchClient(server_of(settings_of(run.judge)))
    except BadJudge as error:
        run_states.stop(run_id=run_id, state=JudgeRun.State.STOPPED_OUTAGE, sentence=str(error))
        return
    for pack in run.packs.filter(is_batch=True, state__in=Pack.OPEN):
        _step(pack, run, client)
    chunks.pause_after_new_wording(run_id)
    run.refresh_from_db()
    if run.by_batch and run.is_active and not run.probe_first and _may_hand_in(run):
        while run.is_active and (new := _prepare(run)):
            _step(new, run, client, is_new=True)
            run.refresh_from_db()
    run_states.end_if_done(run_id=run_id)


def work_off(*, run_id: int, on_wait: Callable[[], None] = lambda: None) -> None:
    """Take the steps of a run in this process until it ends, in the end once a minute."""
    pause = _SHORTEST_POLL
    active = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.ACTIVE)
    while outlive_restart(active.exists):
        outlive_restart(partial(advance_run, run_id=run_id))
        on_wait()
        deadline = time.monotonic() + pause
        while time.monotonic() < deadline and not runtime.is_stopping():
            runtime.sleep(min(0.5, pause))
            on_wait()
        pause = min(_LONGEST_POLL, pause * 1.5)


def _may_hand_in(run: JudgeRun) -> bool:
    """Ask one question directly before the first file, and say whether that may follow.

    So a wrong key, model or parameter shows immediately, not after a day, and refused parameters
    are left out of the file.
    A rejected question may itself be wrong; if the next ones are rejected too, the request is
    wrong.
    """
    for _ in range(FIRST_QUESTIONS):
        if not run.is_active or has_replies(run.pk):
            break
        if not chunks.judge_chunk(run_id=run.pk, is_probe=True):
            break
        run.refresh_from_db()
    if run.is_active and not has_replies(run.pk):
        failed = Judgment.objects.filter(run=run, state=Judgment.State.ERROR).order_by("pk")
        errors = list(failed.values_list("error", flat=True)[:FIRST_QUESTIONS])
        if len(errors) < FIRST_QUESTIONS:
            return False  # another process is working on it, or this one is ending
        sentence = (
            f"The server rejected the first {FIRST_QUESTIONS} questions, so no file was handed in. "
            f"The last answer was: {errors[-1]}"
        )
        run_states.stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=sentence)
        run.refresh_from_db()
    return run.is_active


def _prepare(run: JudgeRun) -> Pack | None:
    """Store the next batch of a run; None if nothing waits or the budget is too low."""
    pack = Pack(
        run=run,
        is_batch=True,
        state=Pack.State.PREPARED,
        requests=0,
        busy_until=clock.now() + BUSY,
    )
    parameters = runtime.backend_of(run.judge).parameters()
    try:
        with transaction.atomic():
            # Every lock of a run and its judgments takes the run first.
            JudgeRun.objects.select_for_update(no_key=True).get(pk=run.pk)
            if lease_questions(run, pack, parameters, most=LINES, is_one_file=True):
                pack.save()
                return pack
            may_grow = room_of(run.pk).may_grow
    except BadRun:  # it was stopped meanwhile
        return None
    # Requests in progress, here or in other runs, may cost less than reserved and free some budget.
    if is_anything_waiting(run) and not may_grow:
        run_states.stop(
            run_id=run.pk,
            state=JudgeRun.State.STOPPED_BUDGET,
            sentence="The remaining budget is too low for another request in a batch. Start the "
            "run again with a higher budget.",
        )
    return None


def _step(pack: Pack, run: JudgeRun, client: BatchClient, *, is_new: bool = False) -> None:
    """Advance a batch as far as possible, unless another process is working on it."""
    mine = Pack.objects.filter(pk=pack.pk, state__in=Pack.OPEN)
    if not is_new:
        free = mine.filter(Q(busy_until=None) | clock.has_ended("busy_until", BUSY))
        if not free.update(busy_until=clock.now() + BUSY):
            return
        pack.refresh_from_db()  # another process may have changed it
    try:
        if pack.state == Pack.State.PREPARED:
            _hand_in(pack, run, client, is_new=is_new)
        else:
            _poll(pack, run, client)
        mine.update(failing_since=None)
    except BatchError as error:
        _note_failure(pack, run, error)
    finally:
        mine.update(busy_until=None)


def _hand_in(pack: Pack, run: JudgeRun, client: BatchClient, *, is_new: bool) -> None:
    """Submit the file, unless a process did so before it died."""
    name = {"thirdperson_run": run.public_id, "thirdperson_batch": pack.public_id}
    provider_id = "" if is_new else client.find(metadata=name)
    if not provider_id:
        with tempfile.TemporaryDirectory(prefix="thirdperson-batch-") as folder:
            path = Path(folder) / f"{pack.public_id}.jsonl"
            with path.open("wb") as file:
                requests = chain.from_iterable(open_requests(run, pack))
                file.writelines(request.line for request in requests)
            provider_id = client.submit(path, metadata=name)
    Pack.objects.filter(pk=pack.pk).update(
        state=Pack.State.WAITING, provider_id=provider_id, submitted_at=clock.now()
    )


def _poll(pack: Pack, run: JudgeRun, client: BatchClient) -> None:
    batch = client.status(pack.provider_id)
    answered = batch.request_counts.completed if batch.request_counts else 0
    Pack.objects.filter(pk=pack.pk).update(answered=answered)
    if batch.status == "failed":
        problems = (batch.errors.data if batch.errors else None) or []
        reason = (
            short("; ".join(str(problem.message) for problem in problems)) or "it did not say why"
        )
        raise BatchError(f"The provider refused the batch: {reason}.", is_final=True)
    if batch.status in _ENDED:
        _collect(pack, run, client, batch)
    elif run.state == JudgeRun.State.CANCELLED and batch.status != "cancelling":
        client.cancel(pack.provider_id)


def _collect(pack: Pack, run: JudgeRun, client: BatchClient, batch: "Batch") -> None:
    """Store every new answer, and release questions without one."""
    replies: dict[int, RawReply] = {}
    for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
        for number, data in enumerate(client.content(file_id).splitlines(keepends=True), start=1):
            reply = read_line(file_id, number, data)
            if isinstance(reply, RawReply) and (judgment := _judgment_of(reply)):
                replies.setdefault(judgment, reply)
    backend = runtime.backend_of(judge_of(run))

    def learn(error: str, sent: Parameters) -> bool:
        return isinstance(backend, LearningBackend) and backend.learn(error, sent)

    store = ReplyStore(run, learn=learn)
    store.store(pack, replies)
    is_billed = batch.status == "completed"
    end = AttemptEnd(
        "lost" if is_billed else "expired",
        None,
        maybe_billed=is_billed,
        error="The batch ended without a result for this request.",
    )
    again = store.again + close_open(run, pack, end)
    words = f", {again:,} to be asked again" if again else ""
    sentence = f"{batch.status.capitalize()}: {store.decided:,} decided{words}."
    end_pack(pack, Pack.State.READ, sentence)
    if store.stop_with:
        run_states.stop(
            run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=store.stop_with
        )


def _judgment_of(reply: RawReply) -> int | None:
    """The judgment that a reply of a provider names, also by a name without run and prompt."""
    parts = reply.custom_id.rsplit("-", 3)
    judgment = parts[1] if len(parts) == 4 else parts[0]
    return int(judgment) if judgment.isdecimal() else None


def _note_failure(pack: Pack, run: JudgeRun, error: BatchError) -> None:
    """Stop the run if a server is down for too long, or if asking again would change nothing."""
    logger.warning("Batch %s: %s", pack.public_id, error)
    since = pack.failing_since or clock.now()
    Pack.objects.filter(pk=pack.pk).update(failing_since=since, sentence=str(error))
    patience = timedelta(seconds=run.judge.outage_seconds)
    if not error.is_final and clock.now() - since < patience:
        return
    if error.is_final:  # nothing of it was asked or billed
        close_open(run, pack, AttemptEnd("rejected", 0, error=str(error)))
        end_pack(pack, Pack.State.FAILED, str(error))
    run_states.stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=str(error))
