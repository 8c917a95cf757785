"""What commands share that have a judge asked: amounts of money, options, and who does the work."""

from argparse import ArgumentParser
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from celery import Task
from django.core.management.base import CommandError
from django.db.models import QuerySet

from judging.models import JudgeRun
from judging.runs.costs import CampaignEstimate, RunEstimate
from judging.runs.lifecycle import wait_for_workers, work_off
from judging.worker import runtime
from studies.jobs.models import Job
from studies.jobs.queueing import queue
from studies.management.terminal import add_how, wait_for


def dollars(text: str) -> Decimal:
    """Parse an amount of money; argparse turns the `ValueError` into its message."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise ValueError(text) from None
    if not amount.is_finite():
        raise ValueError(text)
    return amount


def about(amount: Decimal | None) -> str:
    """A cost in words, before anything is asked."""
    return "cost unknown" if amount is None else f"about ${amount:.4f}"


def estimated(cost: RunEstimate | CampaignEstimate) -> str:
    """What runs would ask and cost, and what to know before they start."""
    asked = f"{cost.questions:,} questions, about {cost.tokens:,} tokens: {about(cost.dollars)}."
    return "\n".join(
        [f"{asked} Nothing was asked.", *(f"Note: {remark}" for remark in cost.remarks)]
    )


def add_asking(
    parser: ArgumentParser,
    *,
    budget: str = "stop before spending more than this",
    dry_run: str = "show the cost; ask nothing",
) -> None:
    """The budget, and who asks: with `--dry-run` nobody."""
    parser.add_argument("--budget", type=dollars, metavar="USD", help=budget)
    add_how(parser, dry_run=dry_run)


def answer_or_wait(runs: QuerySet[JudgeRun], options: Mapping[str, Any]) -> None:
    """Answer runs in this process with `--inline`; with `--wait`, wait until workers have."""
    if options["inline"]:
        try:
            for run in runs:
                work_off(run_id=run.pk)
        finally:
            runtime.shut_down()
    elif options["wait"]:
        wait_for_workers(runs)


def is_done(job: Job, options: Mapping[str, Any], task: Task, *, to_continue: str = "") -> bool:
    """Have a worker, or with `--inline` this process, do the job; false if nobody waits for it.

    Raises `CommandError` if it failed, with what to do to continue.
    """
    if options["inline"]:
        try:
            task(job.pk)
        finally:
            runtime.shut_down()
        job.refresh_from_db()
    else:
        queue(task, job.pk)
        if not options["wait"]:
            return False
        wait_for(job)
    if job.state != Job.State.DONE:
        raise CommandError(f"{job.message} {to_continue}".strip())
    return True
