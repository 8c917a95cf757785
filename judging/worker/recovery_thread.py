"""A thread in every worker that recovers runs, whatever queues the worker serves.

Otherwise a worker only for judging would recover nothing: the schedule runs elsewhere, and its
tasks may wait in a queue that no worker serves.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, InterfaceError, connection

from judging.worker import batches, recovery

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 30.0
# After a time without a database no lease is renewed. Workers that live renew theirs in this time.
GRACE_SECONDS = 3.0
_SWEEPS_PER_STEP = 2  # runs that ask by batch

_stop = threading.Event()


def begin(*, call: Callable[[int], Any], step: Callable[[int], Any]) -> threading.Thread:
    """Sweep now and every half minute until `end`, in a thread.

    `call` puts tokens of a run into its queue, `step` advances a run that is asked by batch.
    """
    _stop.clear()
    thread = threading.Thread(target=_watch, args=(call, step), name="judging-watch", daemon=True)
    thread.start()
    return thread


def end() -> None:
    _stop.set()


def _watch(call: Callable[[int], Any], step: Callable[[int], Any]) -> None:
    sweeps = 0
    while True:
        try:
            if recovery.expired_leases().exists() and _stop.wait(GRACE_SECONDS):
                return
            # A worker that starts may replace one that died with the runs' tokens.
            recovery.recover_runs(call=call, at_start=sweeps == 0)
            if sweeps % _SWEEPS_PER_STEP == 0:
                batches.follow_batches(queue=step)
            sweeps += 1
        except (DatabaseError, InterfaceError) as error:
            logger.warning("Runs could not be looked after, trying again: %s", error)
        finally:
            connection.close()
        if _stop.wait(SWEEP_SECONDS):
            return
