"""Check by simulation what the statistics promise."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError
from analysis.lifecycle.storage import check_output_folder, holds
from studies.management.terminal import progress_bar

SEED = 20240701


class Command(BaseCommand):
    help = (
        "Check the reports' statistics on simulations with known truth and on published tables: "
        "coverage of intervals, levels of tests and violations of guarantees, with Monte Carlo "
        "errors. Needs no database. Exits 1 if a promise is broken."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--quick",
            action="store_true",
            help="fewer studies: about two minutes instead of half an hour",
        )
        parser.add_argument(
            "--only",
            action="append",
            default=[],
            metavar="FAMILY",
            help="family of checks, such as certificates or differences; repeatable",
        )
        parser.add_argument("--seed", type=int, default=SEED, help=f"default {SEED}")
        parser.add_argument("--json", action="store_true", help="print the content of methods.json")
        parser.add_argument(
            "--out",
            type=Path,
            metavar="DIR",
            help="folder for methods.json and tables/ (CSV, Markdown, LaTeX)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from analysis.report.report_json import to_json
        from benchmarks.simulations.method_checks import (
            FILES,
            as_text,
            check_methods,
            chosen_checks,
            in_words,
            number_of_calls,
            write_method_checks,
        )

        out: Path | None = options["out"]
        quick: bool = options["quick"]
        if options["seed"] < 0:
            raise CommandError("--seed: Use a whole number of 0 or more.")
        try:
            checks = chosen_checks(options["only"])
            if out is not None:
                check_output_folder(out, FILES, is_ours=holds(out, "methods"))
        except AnalysisError as error:
            raise CommandError(str(error)) from error
        total = number_of_calls(checks, quick=quick)
        with progress_bar(sys.stderr, total=total, label="Simulating") as bar:
            result = check_methods(checks, quick=quick, seed=options["seed"], on_call=bar.update)
        self.stdout.write(to_json(result) if options["json"] else as_text(result))
        if out is not None:
            try:
                written = write_method_checks(result, out)
            except OSError as error:
                raise CommandError(
                    f"{out} cannot be written: {error.strerror}. Name another folder with --out."
                ) from error
            if not options["json"]:
                self.stdout.write(f"Wrote {len(written)} files to {out}, among them {written[0]}.")
        if result["broken"]:
            raise CommandError(in_words(result))
