"""The passport that a command names, and the answers that it still needs."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError, OutputWrapper

from extras.certificates.passports import BadPassport, Passport, passport_at
from studies.models.studies import Study


def find_passport(path: Path) -> Passport:
    """The passport in a file. Raises `CommandError` like a wrong option."""
    try:
        return passport_at(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.", returncode=2) from None
    except BadPassport as error:
        raise CommandError(f"{path}: {error}", returncode=2) from None


def add_asking(parser: ArgumentParser) -> None:
    """Add the options that decide who asks the judge."""
    parser.add_argument("--budget", metavar="USD", help="US dollars, for answers that are missing")
    parser.add_argument(
        "--inline",
        action="store_true",
        help="ask in this process, without a broker (default: wait for the workers)",
    )
    parser.add_argument(
        "--yes", action="store_true", help="at a terminal: do not ask for confirmation"
    )


def ask_missing(
    study: Study, passport: Passport, options: dict[str, Any], *, out: OutputWrapper
) -> None:
    """Run the judge on the items that it has not answered, with the command `judge`.

    A run that ends early keeps its answers, and the items without one are left.
    """
    from extras.certificates.labelling import still_to_ask

    for missing in still_to_ask(study, passport):
        out.write(f"{missing.judge} has no answer for {missing.items:,} items and is asked.")
        how = {"inline": True} if options["inline"] else {"wait": True}
        limits = {"budget": options["budget"]} if options["budget"] else {}
        try:
            call_command(
                "judge", study.slug, **missing.options, **how, **limits, yes=options["yes"]
            )
        except CommandError as error:
            out.write(f"{error}")
