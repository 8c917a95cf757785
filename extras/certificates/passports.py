"""The file of a passport: JSON with a version and a checksum."""

import hashlib
import json
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError, OutputWrapper

from analysis.errors import AnalysisError
from studies.models.studies import Study

# Choices for forms and commands, kept here so that they load no statistics packages.
SIGNALS = ("stated", "probabilities", "native", "agreement", "orders", "entropy")
TARGETS = ("first_person", "majority")
BY = ("item", "persona")  # what counts equally in the promised share of errors
SCHEMA = "thirdperson-passport"
VERSION = 1
# A passport of 100,000 different certainties has about 5 MB.
MOST_BYTES = 50_000_000
_KINDS: dict[str, type | tuple[type, ...]] = {
    "made_on": str,
    "study": dict,
    "judges": list,
    "jury": str,
    "protocol": dict,
    "signal": str,
    "target": str,
    "error": float,
    "confidence": float,
    "among": int,
    "threshold": float,
    "coverage": float,
    "accepted": dict,
    "tested": list,
    "n": int,
    "n_all": int,
    "seed": int,
    "by": str,
    "redraw": int,
    "domain": dict,
    "calibration": dict,
    "anchors": list,
    "guarantee": str,
}


class PassportError(AnalysisError):
    """Base of errors about certificates and passports."""


class BadPassport(PassportError):
    """The file is not a passport, was changed, or belongs to another judge."""


class NoSuchJudge(PassportError):
    """The study has no run of the judge, or several of which none was chosen."""


class HasMoved(PassportError):
    """The judge, its prompt or the items differ from the certified ones."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("The certificate does not hold here. " + " ".join(reasons))
        self.reasons = list(reasons)


@dataclass(frozen=True)
class Passport:
    """A certificate with everything needed to apply and recheck it."""

    content: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    @property
    def judge(self) -> str:
        """The name of the judge, or of the jury."""
        name: str = self["jury"] or self["judges"][0]["name"]
        return name

    @property
    def checksum(self) -> str:
        return checksum_of(self.content)

    def text(self) -> str:
        """The file."""
        head = {"schema": SCHEMA, "version": VERSION, "checksum": self.checksum}
        return json.dumps(head | dict(self.content), ensure_ascii=False, indent=1) + "\n"


def checksum_of(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content as JSON with sorted keys and without spaces."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_passport(text: str) -> Passport:
    """Parse a passport. Raises `BadPassport`, which says what is wrong."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise BadPassport("This file is not JSON. Use a file that certify wrote.") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise BadPassport("This file is not a passport. Use a file that certify wrote.")
    if found.get("version") != VERSION:
        raise BadPassport(
            f"This passport has version {found.get('version')!r}, and this program reads version "
            f"{VERSION}. Certify the judge again."
        )
    content = {name: value for name, value in found.items() if name not in _HEAD}
    wrong = [
        name
        for name, kind in _KINDS.items()
        if not isinstance(content.get(name), (int, float) if kind is float else kind)
    ]
    if wrong:
        raise BadPassport(f"This passport has no usable “{wrong[0]}”. Certify the judge again.")
    if checksum_of(content) != found.get("checksum"):
        raise BadPassport(
            "This passport was changed after it was written: its checksum does not match. Use "
            "the original file, or certify the judge again."
        )
    return Passport(content)


_HEAD = ("schema", "version", "checksum")


def passport_at(path: Path) -> Passport:
    """Read a passport. Raises `BadPassport`, or `OSError` if the file cannot be read."""
    if path.stat().st_size > MOST_BYTES:
        raise BadPassport(
            f"{path} is larger than {MOST_BYTES // 10**6} MB, so it is not a passport."
        )
    try:
        return read_passport(path.read_text("utf-8"))
    except UnicodeDecodeError:
        raise BadPassport(f"{path} is not text. Use a file that certify wrote.") from None


def find_passport(path: Path) -> Passport:
    """Read a passport for a command. Raises `CommandError`."""
    try:
        return passport_at(path)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.", returncode=2) from None
    except BadPassport as error:
        raise CommandError(f"{path}: {error}", returncode=2) from None


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
