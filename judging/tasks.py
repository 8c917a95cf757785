"""Judging tasks for workers; all are safe to repeat."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from django import db

from judging.worker import chunks, recovery, runtime
from studies.jobs.queueing import queue


# Retry, so that a database outage loses no token.
@shared_task(autoretry_for=(db.OperationalError, db.InterfaceError), retry_backoff=2, max_retries=6)
def judge_chunk(run_id: int) -> None:
    chunks.take_turn(run_id=run_id, then=queue_chunk)


@shared_task
def recover_runs(at_start: bool = False) -> None:
    recovery.recover_runs(call=queue_chunk, at_start=at_start)


def queue_chunk(run_id: int) -> None:
    """Put a token for a run into the queue of the workers that can process it."""
    queue(judge_chunk, run_id, **chunks.route_of(run_id))


@worker_ready.connect
def start_recovery(**_: Any) -> None:
    """Start the recovery thread of a worker; which queues other workers serve is unknown."""
    recovery.begin_recovery(call=queue_chunk)


@worker_shutdown.connect
def stop_looking(**_: Any) -> None:
    recovery.end_recovery()


@worker_shutting_down.connect
def stop_asking(**_: Any) -> None:
    """When a worker ends, stop sending requests and store replies in progress."""
    runtime.stop_asking()
