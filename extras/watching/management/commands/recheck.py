"""recheck PASSPORT [--study STUDY]: repeat the anchors to check whether the passport holds."""

import json
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError
from analysis.passports import find_passport
from studies.management.terminal import find_study

_POLL_SECONDS = 0.5


class Command(BaseCommand):
    help = (
        "Ask a passport's judge about its anchors again, and say whether it is as accurate as "
        "when it was certified. Exits 0 for TRUSTED, 1 for NOT TRUSTED, 3 for INCONCLUSIVE, and 2 "
        "if the passport could not be checked."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("passport", type=Path, help="a file that certify wrote")
        parser.add_argument(
            "--study",
            default="",
            help="short name of the study to label with it (default: the passport's own)",
        )
        parser.add_argument(
            "--answers-of",
            default="",
            metavar="JUDGE",
            help="do not ask; compare this judge's stored judgments",
        )
        parser.add_argument(
            "--tolerance",
            type=float,
            default=0.05,
            help="loss of accuracy to tolerate (default 0.05)",
        )
        parser.add_argument(
            "--inline",
            action="store_true",
            help="run in this process, without a broker (default: wait for the workers)",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.watching.rechecking import recheck

        passport = find_passport(options["passport"])
        try:
            study = find_study(options["study"] or passport["study"]["slug"], uses="watching")
        except CommandError as error:
            raise CommandError(str(error), returncode=2) from None
        try:
            result = recheck(
                study,
                passport,
                answers_of=options["answers_of"],
                tolerated=options["tolerance"],
                inline=options["inline"],
                wait=_wait,
            )
        except AnalysisError as error:
            raise CommandError(str(error), returncode=2) from None
        if options["json"]:
            self.stdout.write(json.dumps(result.record(), ensure_ascii=False, indent=1))
        else:
            self.stdout.write("\n".join(result.sentences))
        if code := {"NOT TRUSTED": 1, "INCONCLUSIVE": 3}.get(result.trust.value, 0):
            sys.exit(code)


def _wait(run: Any) -> None:
    """Wait until the workers have asked a run's questions."""
    while run.is_active:
        time.sleep(_POLL_SECONDS)
        run.refresh_from_db()
