"""recheck [PASSPORT] [--study STUDY [--freeze JUDGE]]: ask again, and say what has moved."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from analysis.errors import AnalysisError
from analysis.passports import find_passport
from studies.management.terminal import find_study, using
from studies.models.studies import Study


class Command(BaseCommand):
    help = (
        "Look again at a study's watched sets, and say whether the judge, the items or people "
        "have moved: exits 0 if nothing is shown, 1 if something has moved. With a passport: ask "
        "its judge about its anchors again; exits 0 for TRUSTED, 1 for NOT TRUSTED, 3 for "
        "INCONCLUSIVE. Exits 2 if it could not be checked. With --freeze: freeze such a set first."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("passport", type=Path, nargs="?", help="a file that certify wrote")
        parser.add_argument(
            "--study",
            default="",
            help="short name of the study with watched sets, or to label with the passport "
            "(default: the passport's own)",
        )
        parser.add_argument(
            "--watched", default="", metavar="ID", help="only this watched set (default: all)"
        )
        parser.add_argument(
            "--answers-of",
            default="",
            metavar="JUDGE",
            help="with a passport: do not ask; compare this judge's stored judgments",
        )
        parser.add_argument(
            "--tolerance",
            type=float,
            default=0.05,
            help="with a passport: loss of accuracy to tolerate (default 0.05)",
        )
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--dry-run", action="store_true", help="show the cost; ask nothing")
        how.add_argument(
            "--inline",
            action="store_true",
            help="run in this process, without a broker (default: wait for the workers)",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
        new = parser.add_argument_group("a new watched set")
        new.add_argument(
            "--freeze",
            default="",
            metavar="JUDGE",
            help="freeze items of the study with this judge's answers, and ask it for a baseline",
        )
        new.add_argument("--run", default="", metavar="ID", help="if the judge has several runs")
        new.add_argument("--items", type=int, default=200, help="items to freeze (default 200)")
        new.add_argument("--rounds", type=int, default=3, help="rounds of the baseline (default 3)")
        new.add_argument(
            "--every",
            type=int,
            default=0,
            metavar="DAYS",
            help="days between looks (default: none)",
        )
        new.add_argument(
            "--used-in", default="", metavar="STUDY", help="whose items are compared with the set's"
        )
        new.add_argument("--mail", action="store_true", help="e-mail to owners and editors")

    def handle(self, *args: Any, **options: Any) -> None:
        passport = find_passport(options["passport"]) if options["passport"] else None
        slug = options["study"] or (passport["study"]["slug"] if passport else "")
        if not slug:
            raise CommandError(
                "Name a study with --study, or the file of a passport.", returncode=2
            )
        try:
            study = find_study(slug)
        except CommandError as error:
            raise CommandError(str(error), returncode=2) from None
        try:
            with using(study, "" if options["dry_run"] else "watching"):
                if options["freeze"]:
                    code = self._freeze(study, options)
                elif passport:
                    code = self._recheck(study, passport, options)
                else:
                    code = self._look(study, options)
        except AnalysisError as error:
            raise CommandError(str(error), returncode=2) from None
        if code:
            sys.exit(code)

    def _freeze(self, study: Study, options: dict[str, Any]) -> int:
        from extras.watching.freezing import WatchWish, cost_of, freeze, run_named
        from extras.watching.looks import ask_baseline, begin_look

        wish = WatchWish(
            run=run_named(study, options["freeze"], options["run"]),
            items=options["items"],
            at_once=options["rounds"],
            every_days=options["every"],
            sends_mail=options["mail"],
            used_in=find_study(options["used_in"]) if options["used_in"] else None,
        )
        cost = cost_of(wish)
        if options["dry_run"]:
            self.stdout.write(f"{cost.sentence} Nothing was frozen.")
            return 0
        with transaction.atomic():
            watched = freeze(wish)
            begin_look(watched.pk, enqueue=not options["inline"])
        ask_baseline(watched, inline=options["inline"])
        self.stdout.write(
            f"Froze {watched.items:,} items as {watched.public_id}. The baseline is complete."
        )
        return 0

    def _recheck(self, study: Study, passport: Any, options: dict[str, Any]) -> int:
        from extras.watching.rechecking import cost_of_recheck, recheck

        if options["dry_run"]:
            self.stdout.write(f"{cost_of_recheck(study, passport)} Nothing was asked.")
            return 0
        result = recheck(
            study,
            passport,
            answers_of=options["answers_of"],
            tolerated=options["tolerance"],
            inline=options["inline"],
        )
        self._write(result.record(), result.sentences, options)
        return {"NOT TRUSTED": 1, "INCONCLUSIVE": 3}.get(result.trust.value, 0)

    def _look(self, study: Study, options: dict[str, Any]) -> int:
        from extras.watching.looks import cost_of_look, look_and_wait, sets_of

        code = 0
        for watched in sets_of(study, options["watched"]):
            if options["dry_run"]:
                self.stdout.write(f"{watched.public_id}: {cost_of_look(watched)}")
                continue
            look_and_wait(watched, inline=options["inline"])
            watched.refresh_from_db()
            result = watched.result or {}
            record = {"watched": watched.public_id, "judge": watched.run.judge.name} | result
            self._write(record, [f"{watched.run.judge.name}:", *result["sentences"]], options)
            code = 1 if result["moved"] else code
        if options["dry_run"]:
            self.stdout.write("Nothing was asked.")
        return code

    def _write(self, record: dict[str, Any], sentences: list[str], options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(record, ensure_ascii=False, indent=1))
        else:
            self.stdout.write("\n".join(sentences))
