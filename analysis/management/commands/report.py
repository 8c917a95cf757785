"""report STUDY… --out DIR: build reports to a folder, without the web and without a worker."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.building import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_SEED,
    check_parameters,
    write_combined_tables,
    write_report,
)
from analysis.errors import AnalysisError, BadParameters


class Command(BaseCommand):
    help = (
        "Build the report of one study to DIR, or of several to DIR/<study> each: report.html "
        "(one file that opens offline), report.json, tables/*.csv and *.tex, and figures/*.json "
        "(plotly)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="+", help="short name of a study")
        parser.add_argument("--out", required=True, help="folder to write to")
        parser.add_argument(
            "--seed",
            type=int,
            help=f"seed of all resamples (default: the plan's, or {DEFAULT_SEED})",
        )
        parser.add_argument(
            "--threshold",
            type=int,
            default=None,
            help="certainty from which an answer is high (default: the study's own, usually 80)",
        )
        parser.add_argument(
            "--bootstrap",
            type=int,
            help=f"resamples of every kind (default: the plan's, or {DEFAULT_BOOTSTRAP})",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        slugs, out = list(dict.fromkeys(options["study"])), Path(options["out"])
        chosen = {key: options[key] for key in ("seed", "threshold", "bootstrap")}
        try:
            check_parameters(**chosen)
        except BadParameters as error:
            raise CommandError(str(error), returncode=2) from None

        results = []
        for slug in slugs:
            folder = out if len(slugs) == 1 else out / slug
            try:
                result = write_report(
                    slug=slug, out=folder, on_progress=self._progress(slug), **chosen
                )
                results.append(result)
            except (AnalysisError, OSError) as error:
                raise CommandError(str(error)) from None
            inputs = result["inputs"]
            self._say(
                f"{slug}: {folder / 'report.html'} ({inputs['items']:,} items, "
                f"{inputs['annotations']:,} answers, {inputs['judgments']:,} judgments)"
            )
        if len(results) > 1:
            self._say(f"All of them: {write_combined_tables(results, out / 'tables')}")

    def _progress(self, slug: str) -> Any:
        """A line that is written over on a terminal, and nothing anywhere else."""
        if self.stderr.isatty():
            return lambda percent, sentence: self.stderr.write(
                f"\r\033[K{slug}: {percent:3} %  {sentence}", ending=""
            )
        return lambda percent, sentence: None

    def _say(self, line: str) -> None:
        if self.stderr.isatty():
            self.stderr.write("\r\033[K", ending="")
        self.stdout.write(line)
