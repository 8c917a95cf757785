"""Recovery of runs after workers were killed, by a thread in every worker.

A thread, because the schedule runs elsewhere and its tasks may wait in a queue that no worker
serves.
"""

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import QuerySet

from judging import deliveries
from judging.models import JudgeRun, Judgment
from judging.worker.chunks import LEASE, call_workers
from judging.worker.run_states import end_if_done, give_back
from studies.statements import clock

SILENCE = timedelta(seconds=25)  # without a heartbeat of a worker, before new tokens are queued


def recover_runs(*, call: Callable[[int], Any], at_start: bool = False) -> int:
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
            call_workers(run, call)
            called += 1
    return called


def expired_leases(*, run_id: int | None = None) -> QuerySet[Judgment]:
    """Judgments with an expired lease: the worker was killed, or the database was down."""
    # Every run by its id: the index of judgments by state begins with the run.
    runs = JudgeRun.objects.values_list("pk", flat=True) if run_id is None else [run_id]
    expired = Judgment.everything.filter(
        clock.has_ended("leased_until", LEASE), run__in=list(runs), state=Judgment.State.LEASED
    )
    # Their requests are held elsewhere, even if a worker died here.
    for delivery in deliveries.MORE:
        expired = expired.exclude(lease__in=delivery.leases())
    return expired


@transaction.atomic
def release_expired(*, run_id: int | None = None) -> dict[int, int]:
    """Release judgments that killed workers held; return how many of each run."""
    expired = expired_leases(run_id=run_id)
    # A run is always locked before its judgments.
    owners = set(expired.values_list("run_id", flat=True))
    if not owners:
        return {}
    list(JudgeRun.objects.select_for_update(no_key=True).filter(pk__in=owners).order_by("pk"))
    held = list(
        expired.filter(run__in=owners)
        .select_for_update(skip_locked=True, no_key=True, of=("self",))
        .order_by("run_id", "pk")
        .values_list("pk", "run_id")
    )
    released: dict[int, int] = {}
    for run in sorted({owner for _, owner in held}):
        ids = [pk for pk, owner in held if owner == run]
        released[run] = give_back(run, Judgment.everything.filter(pk__in=ids))
    return released


logger = logging.getLogger(__name__)

SWEEP_SECONDS = 30.0
# After a database outage, live workers renew their leases within this time.
GRACE_SECONDS = 3.0
_SWEEPS_PER_STEP = 2  # of deliveries

_stop = threading.Event()


def begin_recovery(*, call: Callable[[int], Any]) -> threading.Thread:
    """Sweep now and every half minute until `end`, in a thread.

    `call` puts tokens of a run into its queue.
    """
    _stop.clear()
    thread = threading.Thread(target=_watch, args=(call,), name="judging-watch", daemon=True)
    thread.start()
    return thread


def end_recovery() -> None:
    _stop.set()


def _watch(call: Callable[[int], Any]) -> None:
    sweeps = 0
    while True:
        try:
            if expired_leases().exists() and _stop.wait(GRACE_SECONDS):
                return
            # A new worker may replace one that died with the runs' tokens.
            recover_runs(call=call, at_start=sweeps == 0)
            if sweeps % _SWEEPS_PER_STEP == 0:
                for delivery in deliveries.MORE:
                    delivery.follow()
            sweeps += 1
        except (DatabaseError, InterfaceError) as error:
            logger.warning("Recovery of runs failed, trying again: %s", error)
        finally:
            connection.close()
        if _stop.wait(SWEEP_SECONDS):
            return
