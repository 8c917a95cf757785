from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from extras.personas.other_personas import SEED, WantedSignal, signal_study
from extras.personas.signal_sizes import seen_by, sizes
from studies.errors import StudyError
from studies.management.terminal import explain, find_study


class Command(BaseCommand):
    help = (
        "Create a draft of a linked study that asks drawn items twice: about their own persona, "
        "and about another persona of the study. After people and judges have answered, its "
        "report says how much the persona is worth to each."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--new", metavar="SLUG", help="short name of the new study")
        parser.add_argument(
            "--items", type=int, metavar="N", help="number of items to draw (default: all)"
        )
        parser.add_argument(
            "--differ-in",
            action="append",
            default=[],
            metavar="KEY",
            help="feature in which both personas must differ; repeatable",
        )
        parser.add_argument("--seed", type=int, default=SEED, help=f"default {SEED}")
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="create nothing; print how many items show 3, 5 and 10 points",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"], uses="personas")
        if options["items"] is not None and options["items"] < 2:
            raise CommandError("--items: Use a whole number of 2 or more.")
        if options["seed"] < 0:
            raise CommandError("--seed: Use a whole number of 0 or more.")
        k = study.annotations_per_item
        if options["dry_run"]:
            for size in sizes(k):
                self.stdout.write(
                    f"To see {size['points']} points you need about {size['judge']:,} items for a "
                    f"judge, and {size['people']:,} for people with {k} answers each."
                )
            return
        if not options["new"]:
            raise CommandError("--new: Give the new study a short name.")
        try:
            made = signal_study(
                study_id=study.pk,
                slug=options["new"],
                wanted=WantedSignal(
                    items=options["items"], differ_in=options["differ_in"], seed=options["seed"]
                ),
            )
        except ValidationError as error:
            raise CommandError(explain(error)) from error
        except StudyError as error:
            raise CommandError(str(error)) from error
        drawn = made.source["persona_signal"]
        left = f" {drawn['left_out']:,} found no other persona." if drawn["left_out"] else ""
        seen = seen_by(drawn["items"], k)["judge"]
        sees = "It is too small to show what the persona is worth to a judge."
        if seen is not None:
            sees = f"It can show a worth of {seen} points or more to a judge."
        self.stdout.write(
            f"Created the draft “{made.slug}” with {drawn['items']:,} items, each also about "
            f"another persona.{left} {sees} Judge it with --samples 2 --orders both."
        )
