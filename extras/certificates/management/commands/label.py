"""label STUDY --judge J --passport FILE: label what a certificate allows, and list the rest."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError
from analysis.passports import find_passport
from extras.certificates.missing_answers import add_asking, ask_missing
from studies.management.terminal import find_study


class Command(BaseCommand):
    help = (
        "Label the items of a study with a certified judge, and list the items that its "
        "certificate leaves to people. The judge is asked about unanswered items. If the prompt, "
        "the model or the items differ from the certified ones, nothing is labelled."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study to label")
        parser.add_argument("--judge", required=True, metavar="NAME")
        parser.add_argument("--passport", type=Path, required=True, metavar="FILE")
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="CSV, or JSON Lines if it ends in .jsonl"
        )
        add_asking(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.certificates.labelling import check_judge, label
        from extras.certificates.labels import write_labels

        study, passport = (
            find_study(options["study"], uses="certificates"),
            find_passport(options["passport"]),
        )
        try:
            check_judge(passport, options["judge"])
            ask_missing(study, passport, options, out=self.stderr)
            if options["dry_run"]:
                self.stdout.write("Nothing was labelled.")
                return
            labels = label(study, passport)
            if options["out"]:
                write_labels(labels, options["out"])
        except AnalysisError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{options['out']} cannot be written: {error.strerror}.") from None
        self.stdout.write(labels.sentence)
        if options["out"]:
            self.stdout.write(f"Wrote {len(labels.lines):,} rows to {options['out']}.")
