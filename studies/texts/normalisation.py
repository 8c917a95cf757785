"""Normalisation of imported text, and hashes of content."""

import hashlib
import json
import re
import unicodedata
from typing import Any

# All control characters below the space except TAB and LF, DEL, and the C1 block.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# These, and halves of surrogate pairs, which no UTF-8 file or database can store.
UNSTORABLE = re.compile(f"{CONTROL.pattern[:-1]}\ud800-\udfff]")
_NEWLINE = re.compile(r"\r\n?")


def normalise(text: str) -> str:
    """`text` in NFC, with LF as the only line ending."""
    return unicodedata.normalize("NFC", _NEWLINE.sub("\n", text))


def plain(text: str) -> str:
    """`text` without characters that no database accepts, with LF as the only line ending."""
    text = _NEWLINE.sub("\n", text.replace("\x00", ""))
    return text.encode("utf-8", "replace").decode("utf-8")


def storable(text: str) -> str:
    """`text` normalised and trimmed, without the characters that no item can contain."""
    return UNSTORABLE.sub("", normalise(text)).strip()


def fold(text: str) -> str:
    """`text` without differences of white space and case, to compare two responses."""
    return " ".join(text.split()).casefold()


def digest(value: Any) -> str:
    """SHA-256 of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def canonical(value: Any) -> str:
    """A JSON value as text, independent of the order of its keys."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
