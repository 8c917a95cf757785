import getpass
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError, BadChoice
from analysis.exports.catalogue import LICENCES, formats_of
from analysis.exports.requests import extras_of, format_labels
from analysis.exports.study_export import expected_rows, export_study
from studies.management.terminal import find_study, progress_bar, using
from studies.models.studies import Study


class Command(BaseCommand):
    help = (
        "Write a study's tables to a file, all of them to a folder with a card and checksums, or "
        "the study itself as files for the command apply. People have exported names, and "
        "identifying data are left out."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--what", choices=list(formats_of()), required=True)
        parser.add_argument(
            "--format", choices=list(format_labels()), default="", help="default: jsonl or csv"
        )
        parser.add_argument(
            "--out", type=Path, required=True, help="a file, or for “all” and “study” a folder"
        )
        parser.add_argument(
            "--identified",
            action="store_true",
            help=(
                "include platform ids, for paying people; only the file's owner can read it, the "
                "study's log records it, and a terminal asks you to confirm"
            ),
        )
        parser.add_argument(
            "--free-text", action="store_true", help="include free text by annotators"
        )
        parser.add_argument(
            "--fresh-pseudonyms",
            action="store_true",
            help="give annotators new names, and leave out times, durations and flags",
        )
        parser.add_argument(
            "--licence", choices=LICENCES, default="", help="licence of the answers"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if options["identified"]:
            self._confirm(study)
        doubts = list[str]()
        names = ("what", "format", "out", "identified", "free_text", "fresh_pseudonyms", "licence")
        try:
            total = expected_rows(study, options["what"])
            with (
                using(study, *extras_of(options["what"], options["format"])),
                progress_bar(sys.stderr, total=total, label="rows") as bar,
            ):
                counts = export_study(
                    study,
                    on_rows=bar.update,
                    on_doubts=doubts.extend,
                    by=f"{getpass.getuser()}, at the command line",
                    **{name: options[name] for name in names},
                )
        except BadChoice as error:
            raise CommandError(str(error), returncode=2) from error
        except AnalysisError as error:
            raise CommandError(str(error)) from error
        if options["identified"]:
            self.stderr.write(
                "This export contains personal data. Keep it private and delete it after use."
            )
        if doubts:
            self.stderr.write(f"Look at these words, which may name somebody: {'; '.join(doubts)}.")
        rows = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        self.stdout.write(f"Wrote {options['out']}. Rows: {rows}.")

    def _confirm(self, study: Study) -> None:
        """Ask for confirmation in a terminal; a script confirms by the option itself."""
        if not sys.stdin.isatty():
            return
        self.stderr.write(
            f"This export will contain personal data of the annotators of “{study.title}”. "
            "Create it only if you may, for example for payments. The study's log records it."
        )
        if input(f"Type {study.slug} to continue: ").strip() != study.slug:
            raise CommandError("Nothing was exported.")
