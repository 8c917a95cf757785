"""plan STUDY: forecast what a study can show, and its cost."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError
from extras.planning import wording
from extras.planning.assumptions import DRAWS, SEED, Assumptions
from extras.planning.sources import items_for_people
from studies.management.terminal import find_study, progress_bar

_NUMBERS = {
    "items": (int, "items for people (default: the study's)"),
    "answers": (int, "answers per item (default: the study's)"),
    "per_annotator": (int, "items per annotator (default: the study's)"),
    "judges": (int, "runs that compete for the best result (default: 1)"),
    "accuracy_people": (float, "accuracy of one person (default: 0.6)"),
    "accuracy_judge": (
        float,
        "accuracy of a judge (default: true differences of −10 to 10 points)",
    ),
    "sd_item": (float, "SD of items on the logit scale (default: 1)"),
    "sd_annotator": (float, "SD of people on the logit scale (default: 0.6)"),
    "sd_persona": (float, "SD of personas on the logit scale (default: 0.25)"),
    "sd_question": (float, "SD of questions on the logit scale (default: 0.25)"),
    "overlap": (float, "correlation of difficulty for people and for judges (default: 0.5)"),
    "margin": (float, "equivalence margin (default: the study's)"),
    "draws": (int, f"simulated studies (default: {DRAWS})"),
    "seed": (int, f"seed of the simulation (default: {SEED})"),
}


class Command(BaseCommand):
    help = (
        "Simulate studies of the planned design with a known truth, and show how often their "
        "reports would say better, worse, equivalent or cannot tell, which difference they can "
        "detect, and what they cost. To freeze an analysis plan, use freeze_plan."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--annotators",
            type=int,
            help="number of people, instead of --per-annotator",
        )
        for name, (kind, words) in _NUMBERS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", type=kind, help=words)
        parser.add_argument(
            "--pilot",
            metavar="STUDY",
            help="a study with answers, whose accuracies and effects replace the defaults",
        )
        parser.add_argument(
            "--what-if", action="store_true", help="show other numbers of items and answers too"
        )
        parser.add_argument(
            "--next",
            type=float,
            metavar="AMOUNT",
            help="show instead what this much more of the study's currency narrows most",
        )
        parser.add_argument(
            "--dollar",
            type=float,
            metavar="RATE",
            help="with --next: price of a dollar in that currency, because judges cost dollars",
        )
        parser.add_argument("--json", action="store_true", help="print the forecast as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        chosen = {name: options[name] for name in _NUMBERS}
        if options["pilot"]:
            chosen["pilot"] = find_study(options["pilot"]).slug
        items = items_for_people(study)
        if options["annotators"]:
            if chosen["per_annotator"]:
                raise CommandError(
                    "Use either --annotators or --per-annotator, not both.", returncode=2
                )
            seats = (chosen["items"] or items) * (chosen["answers"] or study.annotations_per_item)
            chosen["per_annotator"] = max(1, -(-seats // options["annotators"]))
        if options["dollar"] is not None and options["next"] is None:
            raise CommandError("--dollar needs --next.", returncode=2)
        try:
            assumed = Assumptions.of(study, items_there=items, **chosen)
            compute = self._forecast if options["next"] is None else self._next
            result = compute(study, assumed, options)
        except AnalysisError as error:
            raise CommandError(str(error), returncode=2) from None
        if options["json"]:
            self.stdout.write(json.dumps(result, indent=2))
            return
        if options["next"] is None:
            self._show(result)
        else:
            self._show_next(result)

    def _forecast(self, study: Any, assumed: Assumptions, options: Mapping[str, Any]) -> Any:
        from extras.planning.forecast import forecast

        with progress_bar(sys.stderr, total=100, label=study.slug) as bar:

            def show(percent: int, sentence: str) -> None:
                bar.set_postfix_str(sentence, refresh=False)
                bar.update(percent - bar.n)

            return forecast(study, assumed, what_if=options["what_if"], on_progress=show)

    def _next(self, study: Any, assumed: Assumptions, options: Mapping[str, Any]) -> Any:
        from extras.planning.next_money import next_purchases

        with progress_bar(sys.stderr, total=100, label=study.slug) as bar:

            def show(percent: int, sentence: str) -> None:
                bar.set_postfix_str(sentence, refresh=False)
                bar.update(percent - bar.n)

            return next_purchases(
                study, options["next"], assumed, dollar=options["dollar"], on_progress=show
            )

    def _show_next(self, result: Mapping[str, Any]) -> None:
        from extras.planning.next_money import lines_of, summary_of

        self.stdout.write(summary_of(result))
        self.stdout.write("")
        now = "now" if result["is_observed"] else "expected"
        columns = ["Purchase", "Buys", "Cost", "Then", "Narrower by", f"For 1 {result['currency']}"]
        lines = lines_of(result)
        self._table(columns, [line[:-1] for line in lines])
        self.stdout.write(
            f"A judge minus the majority of people, half the 95 % interval {now}: "
            f"±{result['now'] * 100:.1f} points. {result['basis']}"
        )
        for title, *_, why in lines:
            if why:
                self.stdout.write(f"{title}: {why}.")

    def _show(self, result: Mapping[str, Any]) -> None:
        design = result["designs"][0]
        self.stdout.write(wording.sentence_of(design))
        self.stdout.write("")
        self._table(
            ["True difference", *wording.STATES.values(), "95 % interval"],
            [[row.difference, *row.chances, row.half_width] for row in wording.rows_of(design)],
        )
        self.stdout.write(
            f"Out of 100 studies, with Monte Carlo intervals in brackets ({design['draws']:,} "
            f"simulated). The majority of people is right on {design['majority'] * 100:.1f} %."
        )
        self.stdout.write(f"Detectable four times out of five: {wording.detectable_words(design)}")
        self.stdout.write("")
        self._table(
            ["Cost", f"{design['annotators']} people"],
            [list(line) for line in wording.cost_lines(design)],
        )
        self._table(
            ["Assumption", "Value", "Source"], [list(one) for one in wording.assumed_lines(result)]
        )
        if len(result["designs"]) > 1:
            self._table(
                ["Items", "Answers", "People", "Detectable", "Cost"],
                [
                    [
                        f"{one.items:,}",
                        str(one.answers),
                        f"{one.annotators:,}",
                        one.detectable,
                        one.cost,
                    ]
                    for one in wording.what_ifs(result)
                ],
            )
        for warning in result["warnings"]:
            self.stdout.write(f"Note: {warning}")

    def _table(self, header: list[str], rows: list[list[str]]) -> None:
        widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
        for row in [header, *rows]:
            cells = [
                cell.ljust(wide) if place == 0 else cell.rjust(wide)
                for place, (cell, wide) in enumerate(zip(row, widths, strict=True))
            ]
            self.stdout.write("  ".join(cells).rstrip())
        self.stdout.write("")
