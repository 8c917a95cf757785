"""audit STUDY: find problems in its items before people answer."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.management.terminal import find_study

_MARKS = {"blocking": "✖ blocks", "advisory": "▲ advice", "informative": "· note"}


class Command(BaseCommand):
    help = (
        "Audit the items of a study: repeated responses, shortcuts to the own answer, profiles "
        "that contain the answer, broken texts, licences. Exits 1 if a finding blocks the "
        "study's opening and nobody has accepted it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--json", action="store_true", help="print all findings with their rules, as JSON"
        )
        parser.add_argument("--all", action="store_true", help="also list checks without findings")

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.audit.findings import Level
        from extras.audit.job import findings_of
        from extras.audit.models import AcceptedFinding

        study = find_study(options["study"])
        findings = findings_of(study)
        known = set(
            AcceptedFinding.objects.filter(study=study).values_list("check_name", flat=True)
        )
        if options["json"]:
            rows = [one.as_json() | {"accepted": one.check in known} for one in findings]
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2))
        else:
            for one in findings:
                if one.is_found or options["all"]:
                    self._show(one, known)
        open_ones = [
            one
            for one in findings
            if one.is_found and one.level == Level.BLOCKING and one.check not in known
        ]
        if open_ones:
            n = len(open_ones)
            if study.has_extra("audit"):
                words = "1 finding blocks" if n == 1 else f"{n} findings block"
                accept = "accept the findings on the page “Audit”."
            else:
                words = f"{n} finding{'s' * (n > 1)} would block"
                accept = f"turn the audit on to accept them: extras {study.slug} --on audit"
            raise CommandError(f"{words} the study's opening. Fix the items, or {accept}")

    def _show(self, one: Any, known: set[str]) -> None:
        mark = _MARKS[one.level.value] if one.is_found else f"  {one.state.value}"
        accepted = " (accepted)" if one.check in known else ""
        self.stdout.write(f"{mark}{accepted}: {one.title}. {one.sentence}")
        if one.is_found:
            self.stdout.write(f"    {one.remedy}")
            if one.rows.count:
                keys = ", ".join(one.rows.keys[:5])
                more = f" and {one.rows.count - 5:,} more" if one.rows.count > 5 else ""
                self.stdout.write(f"    Items: {keys}{more}")
