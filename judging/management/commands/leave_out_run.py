from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from judging.runs import lifecycle
from studies.management.terminal import find_study


class Command(BaseCommand):
    help = (
        "Mark a run as not for the report, for example a trial. Its judgments stay. Reports "
        "leave it out and say so."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--run",
            required=True,
            metavar="ID",
            help="the id at the end of the run's address, or the start of its id in reports",
        )
        parser.add_argument("--undo", action="store_true", help="let reports use it again")

    def handle(self, *args: Any, **options: Any) -> None:
        study, name = find_study(options["study"]), options["run"]
        found = study.judge_runs.filter(Q(public_id=name) | Q(key__startswith=name))
        runs = list(found.select_related("judge")[:2])
        if len(runs) != 1:
            count = "more than one run" if runs else "no run"
            raise CommandError(
                f"Study “{study.slug}” has {count} “{name}”. The page of a run shows its id.",
                returncode=2,
            )
        [run] = runs
        change = lifecycle.take_back_run if options["undo"] else lifecycle.leave_out_run
        change(run_id=run.pk)
        use = "Reports use" if options["undo"] else "Reports leave out"
        self.stdout.write(f"{use} run {run.public_id} of {run.judge.name}.")
