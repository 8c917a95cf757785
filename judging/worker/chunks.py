"""Chunks of a run: lease some judgments, ask, store, and release unanswered ones.

A worker takes the next judgments itself instead of receiving their ids. So the queue has only a few
tokens per run, runs take turns, and a token lost with its worker only costs the time until the next
sweep.
"""

import asyncio
import concurrent.futures
import hashlib
import logging
import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Count, Max, Q, QuerySet

from judging.engine.asker import Routes
from judging.engine.interface import (
    SIDES,
    FindingBackend,
    JudgeAnswer,
    JudgeQuestion,
    Outage,
    OverBudget,
    RequestWatch,
    ShownSide,
    StepwiseBackend,
    Stopped,
)
from judging.engine.messages import prompt_sha256
from judging.errors import BadJudge
from judging.models import Attempt, Judge, JudgeRun, Judgment, PromptTemplate
from judging.prompts.asking import Asking
from judging.selectors import has_replies
from judging.watching import watched
from judging.worker import runtime
from judging.worker.endpoints import check_sharing, judge_of, keep_found
from judging.worker.ledger import LedgerRows, RunLedger, contents_of
from judging.worker.run_states import LEASE, NOT_ASKED, end_if_done, give_back, in_order, stop
from judging.worker.unread import most_to_ask, pause_if_unread
from studies.statements import clock
from studies.statements.bulk import Statements

logger = logging.getLogger(__name__)

CHUNK = 50
# Concurrent chunks of a run, for every two that its slots need: enough to keep the slots full, few
# enough that a slow judge leaves threads to others.
CHUNKS_IN_HAND = 4
# A worker with a GPU takes one chunk at a time.
MOST_GPU_CHUNKS = 64
# A run keeps a worker's thread this long before other runs get a turn. Queueing every chunk
# separately would leave the slots empty while the broker responds: a second with a folder.
TURN_SECONDS = 10.0
# For a local model, which can take minutes to load.
LOCAL_TURN_SECONDS = 300.0
JUDGING_QUEUE, GPU_QUEUE = "judging", "gpu"
AFTER_PROBE = "Paused after its test question. Nothing more is sent until you start the run."
OTHER_WORDS = (
    "Paused because an update of this program changed the wording of the prompts since this run "
    "started. The answers are kept. Start a new run to use the new wording."
)
_RENEW_SECONDS = 10.0
_RENEW_AGAIN_SECONDS = 1.0  # while the database is away
_RESERVE_SECONDS = 60.0

# One thread at a time, because many would block the event loop.
_preparing = threading.Lock()
_in_hand = Counter[int]()  # turns under way in this process, by run
_counting = threading.Lock()


def route_of(run_id: int) -> dict[str, Any]:
    """The queue for the tokens of a run; local models have a separate queue and workers."""
    judge = Judge.objects.get(runs=run_id)
    return {"queue": GPU_QUEUE if judge.capabilities.is_local else JUDGING_QUEUE}


def take_turn(*, run_id: int, then: Callable[[int], Any]) -> None:
    """Judge chunk after chunk; call `then` with the run's id if the turn ends before the run.

    A surplus token ends immediately, so that a run with a hanging server leaves threads to others.
    """
    if pause_after_new_wording(run_id):
        return
    judge = Judge.objects.get(runs=run_id)
    most = chunks_in_hand(judge)
    with _counting:
        if _in_hand[run_id] >= most:
            return
        _in_hand[run_id] += 1
    seconds = LOCAL_TURN_SECONDS if judge.capabilities.is_local else TURN_SECONDS
    end = time.monotonic() + seconds
    counts = runtime.answer_counts_of(run_id)
    is_on_trial = counts.is_on_trial
    try:
        while judge_chunk(run_id=run_id):
            if is_on_trial and not counts.is_on_trial:
                is_on_trial = False
                _call_others(run_id, most - 1, then)
            if time.monotonic() > end or runtime.is_stopping():
                then(run_id)
                return
    finally:
        with _counting:
            _in_hand[run_id] -= 1


def _call_others(run_id: int, most: int, call: Callable[[int], Any]) -> None:
    """Call the workers whose turns ended because only the first questions were asked."""
    waiting = Judgment.everything.filter(run=run_id, state=Judgment.State.PENDING)
    left = waiting.exclude(NOT_ASKED).order_by("pk")[: (most + 1) * CHUNK].count()
    for _ in range(min(most, math.ceil(left / CHUNK) - 1)):
        call(run_id)


def pause_after_new_wording(run_id: int) -> bool:
    """Pause a run if the wording of its prompts has changed since it began; True if paused.

    Otherwise one run would have answers to two prompts, of which its record names one.
    """
    run = JudgeRun.objects.select_related("study", "wording").get(pk=run_id)
    if not run.prompt_hash or not run.is_active:
        return False
    if run.prompt_hash == Asking.of(run).sha256():
        return False
    return stop(run_id=run_id, state=JudgeRun.State.PAUSED, sentence=OTHER_WORDS)


def chunks_in_hand(judge: Judge) -> int:
    """The number of concurrent chunks of a run."""
    if judge.capabilities.is_local:
        return MOST_GPU_CHUNKS
    return CHUNKS_IN_HAND * math.ceil(judge.most_at_once / (2 * CHUNK))


def judge_chunk(*, run_id: int, is_probe: bool = False) -> int:
    """Judge some waiting judgments of a run; return how many were leased, 0 at its end.

    A probe asks one question, also in a batch run. Safe to run concurrently: no call takes what
    another has leased.
    """
    run = JudgeRun.objects.select_related("judge", "study", "wording").get(pk=run_id)
    is_probe |= run.probe_first
    if not run.is_active or runtime.is_stopping() or (run.by_batch and not is_probe):
        return 0
    # Load first, because loading a provider's library can take longer than a lease. A judge that
    # cannot be asked is reported once there is a question for it.
    with suppress(BadJudge):
        runtime.connect(judge_of(run))
    lease = secrets.token_hex(16)
    try:
        # Under one lock, or the first chunk's questions would wait for all other claims.
        with _preparing:
            until = clock.now() + LEASE
            if run.probe_first:
                judgments = claim_probe(run, lease, until=until)
            else:
                judgments = claim_next(run, lease, most=1 if is_probe else CHUNK, until=until)
            questions = questions_of(run, judgments)
        if questions:
            with watched(run) as watches:
                _ask(run, judgments, questions, lease, watches)
    finally:
        # Release all leases, whatever happens.
        give_back(run_id, Judgment.everything.filter(run=run_id, lease=lease))
    if not end_if_done(run_id=run_id) and run.probe_first:
        _end_probe(run_id, judgments)
    return len(judgments)


@transaction.atomic
def claim_probe(run: JudgeRun, lease: str, *, until: datetime) -> list[Judgment]:
    """Lease a probe's question, unless it was answered or another worker is asking it."""
    # Locked, so that the second of two workers sees what the first has leased.
    locked = JudgeRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    is_asked = Judgment.everything.filter(run=run, state=Judgment.State.LEASED).exists()
    if is_asked or has_replies(run.pk) or not (locked.probe_first and locked.is_active):
        return []
    return claim(run, lease, most=1, until=until)


@transaction.atomic
def claim_next(run: JudgeRun, lease: str, *, most: int, until: datetime) -> list[Judgment]:
    """Lease the next waiting judgments; only a few of them until the first answers are known."""
    counts = runtime.answer_counts_of(run.pk)
    if counts.is_on_trial:
        JudgeRun.objects.select_for_update(no_key=True).get(pk=run.pk)
        most = most_to_ask(run.pk, counts, most=most)
    return claim(run, lease, most=most, until=until) if most else []


def _end_probe(run_id: int, asked: list[Judgment]) -> None:
    """Pause a run for confirmation after its first question, with or without a reply."""
    held = Q(state=Judgment.State.LEASED)
    held |= Q(state=Judgment.State.PENDING, pk__in=[judgment.pk for judgment in asked])
    if Judgment.objects.filter(held, run=run_id).exists():
        return
    run = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.ACTIVE, probe_first=True)
    failed = Judgment.objects.filter(run=run_id, state=Judgment.State.ERROR).order_by("pk").last()
    sentence = failed.error if failed and not has_replies(run_id) else AFTER_PROBE
    run.update(state=JudgeRun.State.PAUSED, sentence=sentence, ended_at=clock.now())


def claim(run: JudgeRun, lease: str, *, most: int, until: datetime) -> list[Judgment]:
    """Lease the next waiting judgments, in order, and mark the run as running."""
    ids = _lease(run, lease, most=most, until=until)
    if not ids:
        return []
    # After committing the leases, because a run is always locked before its judgments.
    JudgeRun.objects.filter(pk=run.pk).update(touched_at=clock.now())
    claimed = Judgment.everything.select_related("item__persona").in_bulk(ids)
    return [claimed[pk] for pk in ids if pk in claimed]  # some may have been removed since


@transaction.atomic
def _lease(run: JudgeRun, lease: str, *, most: int, until: datetime) -> list[int]:
    if run.state == JudgeRun.State.QUEUED:
        JudgeRun.objects.filter(pk=run.pk, state=JudgeRun.State.QUEUED).update(
            state=JudgeRun.State.RUNNING, started_at=clock.now()
        )
    ids: list[int] = []
    for waiting in _stages(run):
        # Skip locked rows: in this work queue, another worker takes them.
        free = waiting.select_for_update(skip_locked=True, no_key=True, of=("self",))
        ids += free.values_list("pk", flat=True)[: most - len(ids)]
        if len(ids) == most:
            break
    if ids:
        Judgment.everything.filter(pk__in=ids).update(
            state=Judgment.State.LEASED, lease=lease, leased_until=until
        )
    return ids


def _stages(run: JudgeRun) -> Iterator[QuerySet[Judgment]]:
    """The waiting judgments of a run, by when they are asked."""
    pending = Judgment.State.PENDING
    # Judgments that wait for another one's request are not asked.
    yield in_order(run.pk, pending).filter(anchor="", asked_with=None)
    again = Judgment.everything.filter(run=run.pk, state=pending, anchor=Judgment.Anchor.AGAIN)
    yield again.exclude(NOT_ASKED).order_by("pk")


def questions_of(run: JudgeRun, judgments: list[Judgment]) -> list[JudgeQuestion]:
    """Build the prompts and store which prompt each judgment was asked with."""
    failed = Count("pk", filter=~Q(outcome__in=[Attempt.Outcome.REPLIED, Attempt.Outcome.SENT]))
    attempts = {
        judgment: (last, failed)
        for judgment, last, failed in Attempt.objects.filter(judgment__in=judgments)
        .order_by("judgment")
        .values_list("judgment")
        .annotate(last=Max("number"), failed=failed)
    }
    asking = Asking.of(run)
    is_lenient = run.reading == JudgeRun.Reading.LENIENT
    is_closed = run.judge.capabilities.only_probabilities
    questions = []
    for judgment in judgments:
        messages = asking.messages(judgment.item, shown_first=judgment.shown_first)
        judgment.prompt_sha256 = prompt_sha256(messages)
        last, failures = attempts.get(judgment.pk, (0, 0))
        questions.append(
            JudgeQuestion(
                id=judgment.pk,
                messages=messages,
                protocol=asking.reply_format_of(judgment.item, shown_first=judgment.shown_first),
                seed=_seed_of(run, judgment),
                replies=judgment.replies,
                attempts=last,
                has_failed=failures > 0,
                earlier=tuple(judgment.earlier_replies or ())
                or asking.earlier(judgment.item, shown_first=judgment.shown_first),
                is_lenient=is_lenient,
                probabilities=_sides(judgment),
                closed=asking.closed(judgment.item) if is_closed else None,
            )
        )
    _note_prompts(judgments)
    _freeze_wording(run)
    return questions


def _freeze_wording(run: JudgeRun) -> None:
    if run.wording is not None and run.wording.frozen_at is None:
        own = PromptTemplate.objects.filter(pk=run.wording.pk, frozen_at=None)
        own.update(frozen_at=clock.now())


def _note_prompts(judgments: list[Judgment]) -> None:
    """Store the prompts' hashes, in a tenth of the time of `bulk_update`."""
    with transaction.atomic(), connection.cursor() as cursor:
        statements = Statements(cursor)
        statements.add(
            "UPDATE judging_judgment SET prompt_sha256 = %s WHERE id = %s",
            # In order of id, as judgments are always locked.
            [
                (judgment.prompt_sha256, judgment.pk)
                for judgment in sorted(judgments, key=lambda judgment: judgment.pk)
            ],
        )
        statements.execute()


def _sides(judgment: Judgment) -> dict[ShownSide, float] | None:
    """The probabilities that an earlier step stored, by the prompt's letters."""
    if judgment.probabilities is None:
        return None
    contents = contents_of(judgment.shown_first)
    stored: dict[str, float] = judgment.probabilities
    return {side: stored[contents[side]] for side in SIDES if contents[side] in stored}


def _seed_of(run: JudgeRun, judgment: Judgment) -> int:
    """The seed of a question, equal for the same question of a run; two samples never share one.

    What is asked again has the seed of the question it repeats, so that the request is the same.
    """
    sample = judgment.sample
    if judgment.anchor == Judgment.Anchor.AGAIN:
        sample = (sample - 1) % run.samples + 1
    name = f"{run.seed}|{judgment.item.key}|{judgment.shown_first}|{sample}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) >> 1


def _ask(
    run: JudgeRun,
    judgments: list[Judgment],
    questions: list[JudgeQuestion],
    lease: str,
    watches: Sequence[RequestWatch],
) -> None:
    mine = Judgment.everything.filter(pk__in=[judgment.pk for judgment in judgments], lease=lease)
    running = runtime.get()
    counts = runtime.answer_counts_of(run.pk)

    async def look(answer: JudgeAnswer) -> None:
        """Pause the run if its replies cannot be read; requests in flight are still stored."""
        if counts.add(answer.state):
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(running.loop.executor, pause_if_unread, run.pk)

    ledger = RunLedger(
        writer=running.writer,
        rows=LedgerRows(run, lease, {judgment.pk: judgment.shown_first for judgment in judgments}),
        budget_queue=runtime.budget_queue_of(run.pk),
        is_stopping=runtime.is_stopping,
        on_answer=look,
    )
    try:
        check_sharing(run.study, run.judge)
        # Needed only for a question that failed before.
        has_answered = any(question.has_failed for question in questions) and has_replies(run.pk)
        judge = judge_of(run)
        asker = runtime.asker(judge, ledger, has_answered=has_answered, watches=watches)
    except BadJudge as error:
        stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=str(error))
        return
    work = running.loop.submit(asker.ask_all(questions))
    problems = _wait(work, judge, mine, ledger, asker.routes)
    for address in judge.base_urls:
        backend = runtime.backend_of(judge, address)
        if isinstance(backend, FindingBackend) and backend.found:
            keep_found(run.judge, backend.found)
            break
    _judge_problems(run, [problem for problem in problems if problem is not None])


def _wait(
    work: concurrent.futures.Future[list[BaseException | None]],
    judge: Judge,
    mine: QuerySet[Judgment],
    ledger: RunLedger,
    routes: Routes,
) -> list[BaseException | None]:
    """Wait for the answers and renew the lease, because a worker that waits is not dead.

    After the longest request and outage, plus a reserve, no request is in progress and no limiter
    starts one, so the chunk is given up. A model in this process may take as long as its hardware
    needs while it makes progress.
    """
    patience = judge.timeout_seconds + judge.outage_seconds + _RESERVE_SECONDS
    backend = runtime.backend_of(judge)
    if isinstance(backend, StepwiseBackend):
        patience = backend.step_seconds + _RESERVE_SECONDS
    pause = _RENEW_SECONDS
    while True:
        try:
            return work.result(timeout=pause)
        except concurrent.futures.TimeoutError:
            since = routes.moved_at if ledger.oldest is None else ledger.oldest
            if isinstance(backend, StepwiseBackend):
                since = max(since, backend.moved_at)
            if time.monotonic() - since > patience:
                logger.error("A chunk made no progress for %d seconds and is given up.", patience)
                work.cancel()
                # As after a kill, the sweep releases the questions and counts requests in progress
                # as lost.
                mine.filter(state=Judgment.State.LEASED).update(lease="", leased_until=clock.now())
                return []
            pause = _RENEW_SECONDS if _renew(mine) else _RENEW_AGAIN_SECONDS


def _renew(mine: QuerySet[Judgment]) -> bool:
    """Renew a lease. A database restart does not end a chunk, because its requests are paid for."""
    try:
        mine.filter(state=Judgment.State.LEASED).update(leased_until=clock.now() + LEASE)
    except (OperationalError, InterfaceError) as error:
        logger.warning("A lease could not be renewed, trying again: %s", error)
        connection.close()
        return False
    return True


def _judge_problems(run: JudgeRun, problems: list[BaseException]) -> None:
    for kind, state in (
        (Outage, JudgeRun.State.STOPPED_OUTAGE),
        (OverBudget, JudgeRun.State.STOPPED_BUDGET),
    ):
        if reason := next((p for p in problems if isinstance(p, kind)), None):
            stop(run_id=run.pk, state=state, sentence=str(reason))
            return
    for problem in problems:
        if not isinstance(problem, Stopped):
            raise problem
    if problems:
        logger.info("Run %s was halted: %s", run.pk, problems[0])
