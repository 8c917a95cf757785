"""watch STUDY --judge J: freeze a set of items with a judge's answers."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from analysis.errors import AnalysisError
from studies.management.terminal import add_how, find_study, using


class Command(BaseCommand):
    help = (
        "Freeze a set of items with a judge's answers, and ask the judge again for a baseline. "
        "“recheck --study STUDY” then looks whether the judge, the items or people have moved."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--judge", required=True, metavar="NAME")
        parser.add_argument("--run", default="", metavar="ID", help="if the judge has several runs")
        parser.add_argument("--items", type=int, default=200, help="items to freeze (default 200)")
        parser.add_argument(
            "--rounds", type=int, default=3, help="rounds of the baseline (default 3)"
        )
        parser.add_argument(
            "--every",
            type=int,
            default=0,
            metavar="DAYS",
            help="days between looks (default: none)",
        )
        parser.add_argument(
            "--used-in", default="", metavar="STUDY", help="whose items are compared with the set's"
        )
        parser.add_argument("--mail", action="store_true", help="e-mail to owners and editors")
        add_how(parser, dry_run="show the cost; ask nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.watching.freezing import WatchWish, cost_of, freeze, run_named
        from extras.watching.looks import ask_baseline, begin_look, wait_for_workers

        study = find_study(options["study"])
        used_in = find_study(options["used_in"]) if options["used_in"] else None
        try:
            wish = WatchWish(
                run=run_named(study, options["judge"], options["run"]),
                items=options["items"],
                at_once=options["rounds"],
                every_days=options["every"],
                sends_mail=options["mail"],
                used_in=used_in,
            )
            cost = cost_of(wish)
            if options["dry_run"]:
                self.stdout.write(f"{cost.sentence} Nothing was frozen.")
                return
            with using(study, "watching"), transaction.atomic():
                watched = freeze(wish)
                begin_look(watched.pk, enqueue=not options["inline"])
            is_complete = options["inline"] or options["wait"]
            if is_complete:
                ask_baseline(watched, inline=options["inline"], wait=wait_for_workers)
        except AnalysisError as error:
            raise CommandError(str(error)) from None
        baseline = "The baseline is complete." if is_complete else "The workers ask the baseline."
        self.stdout.write(f"Froze {watched.items:,} items as {watched.public_id}. {baseline}")
