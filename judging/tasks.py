"""What the workers do for judges; each task is safe to run any number of times."""

from typing import Any

from celery import shared_task
from celery.signals import worker_shutting_down

from judging.services import batches, chunks, recovery, runtime


@shared_task
def judge_chunk(run_id: int) -> None:
    chunks.judge_chunk(run_id=run_id, then=queue_chunk)


@shared_task
def recover_runs() -> None:
    recovery.recover_runs(call=queue_chunk)


@shared_task
def advance_batches(run_id: int) -> None:
    batches.advance_run(run_id=run_id)


@shared_task
def follow_batches() -> None:
    batches.follow_batches(queue=advance_batches.delay)


def queue_chunk(run_id: int) -> None:
    """Put a token for a run into the queue of the workers that can do it."""
    judge_chunk.apply_async((run_id,), **chunks.route_of(run_id))


@worker_shutting_down.connect
def stop_asking(**_: Any) -> None:
    """A worker that ends sends nothing more and stores what is under way."""
    runtime.stop_asking()
