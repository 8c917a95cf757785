"""The file of a passport: JSON with a version and a checksum."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.errors import AnalysisError

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
    """Base of errors about certificates, passports and watched sets."""


class BadPassport(PassportError):
    """The file is not a passport, was changed, or belongs to another judge."""


class NoSuchJudge(PassportError):
    """The study has no run of the judge, or several of which none was chosen."""


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
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise BadPassport("This file is not JSON. Use a file that certify wrote.") from None
    if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
        raise BadPassport("This file is not a passport. Use a file that certify wrote.")
    if fields.get("version") != VERSION:
        raise BadPassport(
            f"This passport has version {fields.get('version')!r}, and this program reads version "
            f"{VERSION}. Certify the judge again."
        )
    content = {name: value for name, value in fields.items() if name not in _HEAD}
    wrong = [
        name
        for name, kind in _KINDS.items()
        if not isinstance(content.get(name), (int, float) if kind is float else kind)
    ]
    if wrong:
        raise BadPassport(f"This passport has no usable “{wrong[0]}”. Certify the judge again.")
    if checksum_of(content) != fields.get("checksum"):
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
