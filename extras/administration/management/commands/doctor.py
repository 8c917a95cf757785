"""doctor: check the data and files of this installation."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = (
        "Check seats, counters, answers, the ledger of requests, files and settings of this "
        "installation. Changes nothing without --repair. Exits with 0 if all checks pass, "
        "otherwise with 1."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--repair",
            action="store_true",
            help="correct what follows from other data, such as counters, and delete files and "
            "drafts that belong to nothing; then check again",
        )
        parser.add_argument("--json", action="store_true", help="print every check as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.administration.doctor.examination import examine, repair

        examined = []
        for one in repair() if options["repair"] else examine():
            examined.append(one)
            if not options["json"]:
                self._show(one)
        faults = sum(one.count for one in examined)
        if options["json"]:
            document = {"healthy": not faults, "checks": [one.as_json() for one in examined]}
            self.stdout.write(json.dumps(document, ensure_ascii=False, indent=2))
        if faults:
            n = sum(one.count > 0 for one in examined)
            checks = "1 check" if n == 1 else f"{n} checks"
            total = "1 fault" if faults == 1 else f"{faults:,} faults"
            raise CommandError(f"{checks} of {len(examined)} found {total}.")
        if not options["json"]:
            self.stdout.write(f"All {len(examined)} checks passed.")

    def _show(self, one: Any) -> None:
        for sentence in one.repairs:
            self.stdout.write(f"  repaired: {sentence}")
        self.stdout.write(f"{'✖' if one.count else '✔'} {one.check.title} ({one.check.name})")
        for fault in one.faults:
            study = f"{fault.study}: " if fault.study else ""
            self.stdout.write(f"    {study}{fault.sentence}")
        if one.count > len(one.faults):
            self.stdout.write(f"    … and {one.count - len(one.faults):,} more")
        if one.count:
            self.stdout.write(f"    → {one.check.remedy}")
