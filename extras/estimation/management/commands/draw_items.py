"""draw_items STUDY: choose items for annotators by a judge's certainty."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError
from extras.estimation.item_draw import draw_by_judge, find_run
from studies.errors import StudyError
from studies.management.terminal import find_study, using
from studies.services.items import end_draw


class Command(BaseCommand):
    help = (
        "Choose a draft's items for annotators, with more of those that a judge is likely to get "
        "wrong. The report weighs answers by the items' probabilities."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--judge", metavar="NAME", help="name of the judge, or the start of a run's key"
        )
        parser.add_argument("--items", type=int, metavar="N", help="number of items for annotators")
        parser.add_argument("--seed", type=int, help="seed of the draw (default: the study's)")
        parser.add_argument(
            "--by-topic", action="store_true", help="go back to a draw by topic, without a judge"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            if options["by_topic"]:
                end_draw(study_id=study.pk)
                self.stdout.write("Items for annotators are now drawn without a judge.")
                return
            if not options["judge"] or options["items"] is None:
                raise CommandError("Give the judge and the number of items: --judge and --items.")
            with using(study, "estimation"):
                drawn = draw_by_judge(
                    study_id=study.pk,
                    run=find_run(study, options["judge"]),
                    size=options["items"],
                    seed=options["seed"],
                )
        except (AnalysisError, StudyError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            f"Annotators get {drawn.size:,} of {drawn.items:,} items, drawn with probabilities "
            f"from {drawn.lowest:.3f} to {drawn.highest:.3f} and the seed {drawn.seed}."
        )
