"""Packs and batches in the commands `judge` and `import_judgments`, and on a run's page."""

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import QuerySet

from extras.packs import batches
from extras.packs.ledger import close_open, end_pack
from extras.packs.models import Pack
from extras.packs.packing import WITH_PACK, may_pack, write_pack
from extras.packs.reading import import_raw
from judging.deliveries import RunDelivery, RunPanel
from judging.engine.interface import AttemptEnd
from judging.management.errors import option_name
from judging.models import Judge, JudgeRun, Judgment
from judging.runs.spec import RunSpec
from judging.runs.start import run_for
from judging.selectors import RunProgress
from judging.worker import run_states
from studies.importers.files.bundle import file_at
from studies.models import Study
from studies.services.studies import lock_study, record

_DISCARDED = "The pack was discarded before a reply was imported."
_OPEN_AGAIN = (
    "Its pack was discarded. Resume the run to ask its questions here, or write another pack."
)


@transaction.atomic
def discard_packs(*, run_id: int, user: User | None = None) -> bool:
    """Stop waiting for the replies to the packs of a run; False if it has no open pack.

    Later replies are refused. Their cost elsewhere is unknown here.
    """
    run = JudgeRun.objects.select_related("judge", "study").get(pk=run_id)
    lock_study(run.study_id)
    packs = list(_waiting(run_id))
    for pack in packs:
        close_open(run, pack, AttemptEnd("expired", None, error=_DISCARDED))
        end_pack(pack, Pack.State.DISCARDED, _DISCARDED)
    if not packs:
        return False
    resting = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.RESUMABLE)
    resting.update(sentence=_OPEN_AGAIN)
    record(run.study, "pack discarded", user=user, run=run.public_id)
    return True


def _waiting(run_id: int) -> QuerySet[Pack]:
    return Pack.objects.filter(run=run_id, is_batch=False, state=Pack.State.WAITING)


class PackDelivery(RunDelivery):
    name = "packs"
    asks_by_batch = True
    packages = ("openai",)

    def add_judge_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--batch",
            action="store_true",
            help="use the provider's batch service: cheaper, with replies within a day",
        )
        parser.add_argument(
            "--pack",
            type=Path,
            metavar="DIR",
            help="ask nothing, but write the requests to this new folder, to be answered elsewhere",
        )
        parser.add_argument(
            "--discard-pack",
            action="store_true",
            help="stop waiting for replies to packs of this run, and ask their questions here",
        )

    def specify(self, spec: RunSpec, options: dict[str, Any]) -> RunSpec:
        return replace(spec, by_batch=options["batch"])

    def queue(self, run_id: int) -> None:
        from extras.packs.tasks import queue_batches

        queue_batches(run_id)

    def follow(self) -> None:
        batches.follow_batches(queue=self.queue)

    def work_off(self, run_id: int, on_wait: Callable[[], None]) -> None:
        batches.work_off(run_id=run_id, on_wait=on_wait)

    def deliver(self, spec: RunSpec, options: dict[str, Any]) -> str:
        out = options["pack"]
        if not out:
            if options["discard_pack"]:
                _discard(spec)
            return ""
        for name in ("wait", "inline", "probe", "batch", "discard_pack"):
            if options[name]:
                raise CommandError(
                    f"--pack asks nothing here, so {option_name(name)} cannot be used with it. "
                    "Leave out one of them."
                )
        try:
            pack = write_pack(spec, out)
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror}.") from error
        return (
            f"Wrote {pack.requests:,} requests of run {pack.run.public_id} to {out}. "
            "README.txt there says how to get answers and import the replies."
        )

    def add_import_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--raw",
            action="store_true",
            help="the files contain raw replies to packs of the study, as written by vllm "
            "run-batch or a provider's batch",
        )

    def read(self, study: Study, paths: Sequence[Path], options: dict[str, Any]) -> str:
        if not options["raw"]:
            return ""
        for name in ("skip_faulty", "scale"):
            if options[name]:
                option = option_name(name)
                raise CommandError(f"{option} is for files of judgments. Leave it out with --raw.")
        for name in ("judge", "setting", "features"):
            if options[name]:
                raise CommandError(
                    f"With --raw the pack states the {name}. Leave {option_name(name)} out."
                )
        return str(import_raw(study_id=study.pk, files=[file_at(path) for path in paths]))

    def leases(self) -> QuerySet[Any, Any]:
        return Pack.objects.filter(state__in=Pack.OPEN).values("public_id")

    def why_waiting(self, run_id: int) -> str:
        waiting = _waiting(run_id)
        if not waiting.exists():
            return ""
        leased = run_states.in_order(run_id, Judgment.State.LEASED)
        is_asked = leased.exclude(lease__in=waiting.values("public_id")).exists()
        return "" if is_asked else WITH_PACK

    def panel(self, run: JudgeRun, progress: RunProgress, *, may_edit: bool) -> RunPanel | None:
        packs = list(run.packs.all())
        is_waiting = any(not p.is_batch and p.state == Pack.State.WAITING for p in packs)
        may = may_pack(run) and progress.left + progress.error > 0
        if not packs and not (may and may_edit):
            return None
        context = {"packs": packs, "is_waiting": is_waiting, "may_pack": may}
        return RunPanel("packs/_panel.html", context, holds_all=is_waiting and not progress.pending)


def _discard(spec: RunSpec) -> None:
    study, judge = Study.objects.get(pk=spec.study_id), Judge.objects.get(pk=spec.judge_id)
    run = run_for(study, judge, spec)
    if run.pk is None or not discard_packs(run_id=run.pk):
        raise CommandError("No pack of this run waits for replies. Leave --discard-pack out.")


PACKS = PackDelivery()
