"""Packs in the commands `judge` and `import_judgments`, on a run's page, and discarded."""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import QuerySet

from extras.packs.models import Pack
from extras.packs.packing import WITH_PACK, may_pack, write_pack
from extras.packs.reading import import_raw
from extras.packs.requests import ledger_rows, open_questions, store_rows
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
from studies.statements import clock

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
    packs = list(run.packs.filter(state=Pack.State.WAITING))
    for pack in packs:
        _discard_pack(pack, run)
    if not packs:
        return False
    resting = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.RESUMABLE)
    resting.update(sentence=_OPEN_AGAIN)
    record(run.study, "pack discarded", user=user, run=run.public_id)
    return True


def _discard_pack(pack: Pack, run: JudgeRun) -> None:
    questions = open_questions(run, pack.public_id)
    judgments = Judgment.objects.filter(lease=pack.public_id)
    rows = ledger_rows(run, pack.public_id, judgments)
    end = AttemptEnd("expired", None, error=_DISCARDED)
    store_rows([rows.closing(q, q.attempts, end, q.replies, None) for q in questions])
    run_states.release(judgments)
    Pack.objects.filter(pk=pack.pk).update(
        state=Pack.State.DISCARDED, sentence=_DISCARDED, ended_at=clock.now()
    )


class PackDelivery(RunDelivery):
    name = "packs"

    def add_judge_options(self, parser: ArgumentParser) -> None:
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
            "run-batch, a provider's batch, Inspect or promptfoo",
        )
        parser.add_argument(
            "--run",
            default="",
            metavar="ID",
            help="with --raw: the run of replies that do not name their request",
        )

    def read(self, study: Study, paths: Sequence[Path], options: dict[str, Any]) -> str:
        if not options["raw"]:
            if options["run"]:
                raise CommandError("--run is for raw replies. Add --raw, or leave it out.")
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
        files = [file_at(path) for path in paths]
        return str(import_raw(study_id=study.pk, files=files, run=options["run"]))

    def leases(self) -> QuerySet[Any, Any]:
        return Pack.objects.filter(state=Pack.State.WAITING).values("public_id")

    def why_waiting(self, run_id: int) -> str:
        waiting = Pack.objects.filter(run=run_id, state=Pack.State.WAITING)
        if not waiting.exists():
            return ""
        leased = run_states.in_order(run_id, Judgment.State.LEASED)
        is_asked = leased.exclude(lease__in=waiting.values("public_id")).exists()
        return "" if is_asked else WITH_PACK

    def panel(self, run: JudgeRun, progress: RunProgress, *, may_edit: bool) -> RunPanel | None:
        packs = list(run.packs.all())
        is_waiting = any(pack.state == Pack.State.WAITING for pack in packs)
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
