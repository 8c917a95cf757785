"""What the workers do for judges; each task is safe to run any number of times."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django import db

from judging.services import batches, chunks, recovery, runtime
from studies.queueing import queue


# A database that is away takes no token with it.
@shared_task(autoretry_for=(db.OperationalError, db.InterfaceError), retry_backoff=2, max_retries=6)
def judge_chunk(run_id: int) -> None:
    chunks.take_turn(run_id=run_id, then=queue_chunk)


@shared_task
def recover_runs(at_start: bool = False) -> None:
    recovery.recover_runs(call=queue_chunk, at_start=at_start)


@shared_task
def advance_batches(run_id: int) -> None:
    batches.advance_run(run_id=run_id)


@shared_task
def follow_batches() -> None:
    batches.follow_batches(queue=queue_batches)


def queue_chunk(run_id: int) -> None:
    """Put a token for a run into the queue of the workers that can do it."""
    queue(judge_chunk, run_id, **chunks.route_of(run_id))


def queue_batches(run_id: int) -> None:
    """Have a worker take the next step of a run that asks by batch."""
    queue(advance_batches, run_id)


@worker_ready.connect
def take_up(**_: Any) -> None:
    """A worker that starts may follow one that died and took the runs' tokens with it."""
    queue(recover_runs, True)


@worker_shutting_down.connect
def stop_asking(**_: Any) -> None:
    """A worker that ends sends nothing more and stores what is under way."""
    runtime.stop_asking()
