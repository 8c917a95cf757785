"""What workers do for runs: judge chunk after chunk, and recover what a killed worker left.

The queue has only a few tokens of each run, which name the run and no question. All tasks are safe
to repeat.
"""

import logging
import math
import threading
from datetime import timedelta
from functools import partial
from typing import Any

from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from django import db
from django.db import connection, transaction

from judging import deliveries
from judging.models import JudgeRun, Judgment
from judging.worker import chunks, runtime
from judging.worker.run_states import NOT_ASKED, end_if_done, expired_leases, release_expired
from studies.jobs.queueing import queue
from studies.jobs.shared_tasks import shared_task
from studies.statements import clock

logger = logging.getLogger(__name__)

SILENCE = timedelta(seconds=25)  # without a heartbeat of a worker, before new tokens are queued
SWEEP_SECONDS = 30.0
# After a database outage, live workers renew their leases within this time.
GRACE_SECONDS = 3.0
_SWEEPS_PER_STEP = 2  # of deliveries


def call_workers(run: JudgeRun) -> None:
    """Queue tokens for a run once it is stored; each judges chunks until nothing is left."""
    most = chunks.chunks_in_hand(run.judge)
    pending = Judgment.everything.filter(run=run, state=Judgment.State.PENDING)
    pending = pending.exclude(NOT_ASKED)
    # Do not count them all, because there may be a million.
    waiting = 1 if run.probe_first else pending.order_by("pk")[: most * chunks.CHUNK].count()
    JudgeRun.objects.filter(pk=run.pk).update(touched_at=clock.now())
    for _ in range(min(math.ceil(waiting / chunks.CHUNK), most)):
        transaction.on_commit(partial(queue_chunk, run.pk))


def queue_chunk(run_id: int) -> None:
    """Put a token for a run into the queue of the workers that can process it."""
    queue(judge_chunk, run_id, **chunks.route_of(run_id))


# Retry, so that a database outage loses no token.
@shared_task(autoretry_for=(db.OperationalError, db.InterfaceError), retry_backoff=2, max_retries=6)
def judge_chunk(run_id: int) -> None:
    chunks.take_turn(run_id=run_id, then=queue_chunk)


@worker_shutting_down.connect
def stop_asking(**_: Any) -> None:
    """When a worker ends, stop sending requests and store replies in progress."""
    runtime.stop_asking()


@shared_task
def recover_runs(at_start: bool = False) -> int:
    """Release expired leases and queue tokens; return the number of runs.

    A run with waiting judgments but no recent heartbeat has lost its tokens with a worker, or waits
    behind others: it gets new ones. A surplus token finds nothing to do and ends. `at_start` of a
    worker all runs get some, because its predecessor's tokens are lost.
    """
    released = release_expired()
    called = 0
    for run in JudgeRun.objects.filter(state__in=JudgeRun.ACTIVE, is_imported=False):
        if end_if_done(run_id=run.pk) or (run.by_batch and not run.probe_first):
            continue
        silent = run.touched_at is None or clock.is_long_ago(run.touched_at, SILENCE)
        alive = Judgment.everything.filter(run=run, state=Judgment.State.LEASED).exists()
        if run.pk in released or at_start or (silent and not alive):
            call_workers(run)
            called += 1
    return called


_stop = threading.Event()


@worker_ready.connect
def begin_recovery(**_: Any) -> threading.Thread:
    """Recover runs now and every half minute, until `end_recovery`.

    By a thread in every worker, because the schedule runs elsewhere and its tasks may wait in a
    queue that no worker serves.
    """
    _stop.clear()
    thread = threading.Thread(target=_watch, name="judging-watch", daemon=True)
    thread.start()
    return thread


@worker_shutdown.connect
def end_recovery(**_: Any) -> None:
    _stop.set()


def _watch() -> None:
    sweeps = 0
    while True:
        try:
            if expired_leases().exists() and _stop.wait(GRACE_SECONDS):
                return
            # A new worker may replace one that died with the runs' tokens.
            recover_runs(at_start=sweeps == 0)
            if sweeps % _SWEEPS_PER_STEP == 0:
                for delivery in deliveries.MORE:
                    delivery.follow()
            sweeps += 1
        except (db.DatabaseError, db.InterfaceError) as error:
            logger.warning("Recovery of runs failed, trying again: %s", error)
        finally:
            connection.close()
        if _stop.wait(SWEEP_SECONDS):
            return
