"""leave_out STUDY: take a faulty item, or a run, out of the analysis, or let it count again."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from annotation.errors import ItemError
from annotation.services.faulty_items import describe, put_back, take_out
from judging.runs import lifecycle
from studies.management.terminal import find_study
from studies.models import Study


class Command(BaseCommand):
    help = (
        "Take a faulty item, or a run such as a trial, out of the analysis. Answers and judgments "
        "stay, and reports say what they leave out. Nobody is asked about such an item any more, "
        "and nobody's pay changes. Repeating it changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--item", metavar="ID", help="the item's id")
        what.add_argument(
            "--run",
            metavar="ID",
            help="the id at the end of the run's address, or the start of its id in reports",
        )
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--reason", metavar="TEXT", help="why an item; reports state it")
        how.add_argument("--undo", action="store_true", help="let it count again")

    def handle(self, *args: Any, **options: Any) -> None:
        study, undo = find_study(options["study"]), options["undo"]
        if options["run"]:
            if options["reason"]:
                raise CommandError("--reason is for an item: reports name no reason for a run.")
            self._run(study, options["run"], undo=undo)
        elif undo or options["reason"]:
            self._item(study, options["item"], reason=options["reason"])
        else:
            raise CommandError("Give --reason, which reports state, or --undo.")

    def _item(self, study: Study, key: str, *, reason: str | None) -> None:
        try:
            if reason is None:
                item = put_back(study_id=study.pk, key=key)
            else:
                item = take_out(study_id=study.pk, key=key, reason=reason)
        except ItemError as error:
            raise CommandError(str(error), returncode=2) from None
        facts = describe(item)
        together = f", with {', '.join(facts.together)}" if facts.together else ""
        state = "counts" if reason is None else "is out of the analysis"
        self.stdout.write(f"“{key}”{together} {state}. It has {facts.answers:,} answers.")

    def _run(self, study: Study, name: str, *, undo: bool) -> None:
        alike = study.judge_runs.filter(Q(public_id=name) | Q(key__startswith=name))
        runs = list(alike.select_related("judge")[:2])
        if len(runs) != 1:
            count = "more than one run" if runs else "no run"
            raise CommandError(
                f"Study “{study.slug}” has {count} “{name}”. The page of a run shows its id.",
                returncode=2,
            )
        [run] = runs
        change = lifecycle.take_back_run if undo else lifecycle.leave_out_run
        change(run_id=run.pk)
        use = "Reports use" if undo else "Reports leave out"
        self.stdout.write(f"{use} run {run.public_id} of {run.judge.name}.")
