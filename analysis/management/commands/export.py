import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError
from analysis.exports import FORMATS, WHAT, export_study
from annotation.models import Annotation
from judging.models import Judgment
from studies.models import Item, Study
from studies.progress import ProgressBar


class Command(BaseCommand):
    help = (
        "Write a study's tables to a file, or all of them to a folder with a card and checksums. "
        "People appear under exported names; what could identify them stays inside."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--what", choices=WHAT, required=True)
        parser.add_argument("--format", choices=FORMATS, default="jsonl")
        parser.add_argument("--out", type=Path, required=True, help="a file; a folder for “all”")
        parser.add_argument(
            "--identified",
            action="store_true",
            help="with platform ids, for paying people; the file is readable by its owner alone",
        )
        parser.add_argument(
            "--fresh-pseudonyms",
            action="store_true",
            help="name everybody anew; earlier exports join with later ones no more",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study “{options['study']}”.")
        try:
            with ProgressBar(sys.stderr, total=_rows(study, options), label="rows") as bar:
                counts = export_study(
                    study,
                    what=options["what"],
                    format=options["format"],
                    out=options["out"],
                    identified=options["identified"],
                    fresh_pseudonyms=options["fresh_pseudonyms"],
                    on_row=bar.step,
                )
        except AnalysisError as error:
            raise CommandError(str(error)) from error
        if options["identified"]:
            self.stderr.write("This export names people: keep it private, delete it after use.")
        rows = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        self.stdout.write(f"Wrote {rows} to {options['out']}.")


def _rows(study: Study, options: dict[str, Any]) -> int:
    """About how many rows will be written."""
    sizes = {
        "items": lambda: Item.everything.filter(study=study).count(),
        "annotations": lambda: Annotation.objects.filter(
            assignment__annotator__study=study
        ).count(),
        "judgments": lambda: Judgment.objects.filter(run__study=study).count(),
        "annotators": lambda: study.annotators.count(),
    }
    if options["what"] != "all":
        return sizes[options["what"]]()
    return sum(size() for size in sizes.values()) * (3 if options["format"] == "parquet" else 2)
