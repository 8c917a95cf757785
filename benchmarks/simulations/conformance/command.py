"""conformance: compare another program's statistics with the reference cases."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = (
        "Compare the results of a program's statistics with reference cases: each case agrees, "
        "differs or is missing. Needs no database. Exits 1 if a case differs or all are missing, "
        "2 if the file cannot be read."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        group = parser.add_mutually_exclusive_group(required=True)
        group.add_argument("results", type=Path, nargs="?", help="the program's results, as JSON")
        group.add_argument(
            "--own", type=Path, metavar="FILE", help="write our own results to a file"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from benchmarks.simulations.conformance.cases import (
            AGREES,
            DIFFERS,
            MISSING,
            BadResults,
            compare,
            load_cases,
            own_results,
            read_results,
        )

        cases = load_cases()
        own: Path | None = options["own"]
        if own is not None:
            own.write_text(json.dumps(own_results(cases), indent=1) + "\n", "utf-8")
            self.stdout.write(f"{own}: {len(cases)} cases")
            return
        try:
            results = read_results(options["results"])
        except BadResults as error:
            raise CommandError(str(error), returncode=2) from error
        outcomes = list(compare(results, cases))
        for outcome in outcomes:
            detail = f": {outcome.detail}" if outcome.detail else ""
            self.stdout.write(f"{outcome.state:8} {outcome.statistic} {outcome.case}{detail}")
        found = {
            state: sum(outcome.state == state for outcome in outcomes)
            for state in (AGREES, DIFFERS, MISSING)
        }
        words = ", ".join(f"{count} {state}" for state, count in found.items())
        if found[DIFFERS] or not found[AGREES]:
            raise CommandError(words)
        self.stdout.write(words)
