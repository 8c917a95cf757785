"""The options of commands that ask a judge what it has not answered, and the asking."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError, OutputWrapper

from analysis.passports import Passport
from studies.models.studies import Study


def add_asking(parser: ArgumentParser) -> None:
    """Add the options that decide who asks the judge."""
    parser.add_argument("--budget", metavar="USD", help="budget for missing answers in US dollars")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--dry-run", action="store_true", help="show the cost of missing answers; ask nothing"
    )
    how.add_argument(
        "--inline",
        action="store_true",
        help="run in this process, without a broker (default: wait for the workers)",
    )
    parser.add_argument(
        "--yes", action="store_true", help="at a terminal: do not ask for confirmation"
    )


def ask_missing(
    study: Study, passport: Passport, options: dict[str, Any], *, out: OutputWrapper
) -> None:
    """Run the judge on the items that it has not answered, with the command `judge`.

    A run that ends early keeps its answers and leaves the other items.
    """
    from extras.certificates.labelling import still_to_ask

    for missing in still_to_ask(study, passport):
        out.write(f"Asking {missing.judge} about {missing.items:,} unanswered items.")
        how = {name: True for name in ("dry_run", "inline") if options[name]} or {"wait": True}
        limits = {"budget": options["budget"]} if options["budget"] else {}
        try:
            call_command(
                "judge", study.slug, **missing.options, **how, **limits, yes=options["yes"]
            )
        except CommandError as error:
            out.write(f"{error}")
