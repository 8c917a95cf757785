"""verify REPORT: check whether a report follows from its inputs."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError, NoSuchStudy
from extras.report_readers.recomputed.differences import ReportDifference

SHOWN = 20


class Command(BaseCommand):
    help = (
        "Recompute a report from the current answers, with its seed, threshold and resamples. "
        "Exits 0 if every number is the same, otherwise 1 with the differences and reasons."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = "a report.json, its folder, or the id of a report in this database"
        parser.add_argument("report", nargs="?", default="", help=what)
        parser.add_argument(
            "--report",
            dest="named",
            metavar="REPORT",
            default="",
            help="the same, needed for an id that starts with a dash: --report=ID",
        )
        parser.add_argument(
            "--study", default="", help="the study with its data, if it has another name here"
        )
        parser.add_argument("--all", action="store_true", help="show every value that differs")

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.report_readers.recomputed.recomputing import read_report, verify_report

        named = options["named"] or options["report"].removeprefix("verify=")
        if not named:
            raise CommandError(
                "Give a report: verify REPORT or verify --report=REPORT.", returncode=2
            )
        try:
            report = read_report(named)
            check = verify_report(report, study=options["study"])
        except NoSuchStudy as error:
            raise CommandError(f"{error} If its data has another name here, add --study.") from None
        except AnalysisError as error:
            raise CommandError(str(error)) from None
        if check.is_equal:
            self.stdout.write(
                f"Equal: {report['study']['slug']}, inputs {report['inputs']['hash'][:12]}…, "
                f"seed {report['seed']}. All numbers match the current answers."
            )
            if check.versions:
                self.stdout.write(
                    f"Some software versions changed since the report was built: {check.versions}."
                )
            return
        for reason in check.reasons:
            self.stdout.write(reason)
        for method in check.methods:
            change, n = method.change, method.values
            self.stdout.write(
                f"{change.date}: {change.title} (docs/{change.page}). This can explain "
                f"{n:,} changed value{'' if n == 1 else 's'}, for example {method.first}."
            )
        if check.methods and check.unexplained:
            self.stdout.write(f"No change of a method explains {check.unexplained:,} more.")
        if check.versions and check.others:
            self.stdout.write(
                f"{check.others:,} other value{' is' if check.others == 1 else 's are'} text, or "
                "in a part of the report that only one of the versions has."
            )
        listed = check.differences if options["all"] else check.differences[:SHOWN]
        for difference in listed:
            self.stdout.write(_line(difference))
        if len(check.differences) > len(listed):
            self.stdout.write(f"… and {len(check.differences) - len(listed):,} more (--all).")
        if check.versions and not any(check.versions in reason for reason in check.reasons):
            self.stdout.write(f"Some software versions also changed: {check.versions}.")
        state = "superseded" if check.is_superseded else "out of date"
        n = len(check.differences)
        differ = "1 value differs" if n == 1 else f"{n:,} values differ"
        raise CommandError(f"The report is {state}: {differ}.")


def _line(difference: ReportDifference) -> str:
    return f"  {difference.path}: {difference.then} in the report, {difference.now} now"
