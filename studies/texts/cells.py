"""What a cell of a file means: the same rules for CSV, workbooks, JSON and Parquet.

`clean` is for texts, `name_of` for what is compared: ids, labels, names of columns. Each counts or
refuses what it changes, so that nothing is lost without a word.
"""

import ast
import json
import re
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from typing import Any

from studies.texts.normalisation import HALF, INVISIBLE, normalise

# The encodings of text files that can be named, with their names for people.
ENCODINGS = {
    "utf-8": "UTF-8",
    "cp1252": "Western European (Windows-1252)",
    "cp1250": "Central European (Windows-1250)",
    "cp1251": "Cyrillic (Windows-1251)",
    "cp1253": "Greek (Windows-1253)",
    "cp1254": "Turkish (Windows-1254)",
    "cp1255": "Hebrew (Windows-1255)",
    "cp1256": "Arabic (Windows-1256)",
    "cp874": "Thai (Windows-874)",
    "cp932": "Japanese (Shift JIS)",
    "gb18030": "Chinese (GB 18030)",
    "big5": "Chinese (Big5)",
    "cp949": "Korean (Windows-949)",
    "mac_roman": "Mac OS Roman",
    "utf-16": "UTF-16",
}
# Words for an empty cell that only programs write.
WRITTEN_BY_PROGRAMS = frozenset({"", "nan", "<na>", "#n/a"})
# What was changed while a file was read, and how often.
Changes = Counter[str]
REMOVED = "invisible characters removed"
# What spreadsheets show instead of a value that they could not compute. A workbook has the English
# words; a CSV file has those of the language of the program.
_ERRORS = frozenset(
    "#NAME? #REF! #VALUE! #DIV/0! #NUM! #NULL! #N/A #SPILL! #CALC! #FIELD! #BLOCKED! #CONNECT! "
    "#BUSY! #UNKNOWN! #EXTERNAL! #PYTHON! #GETTING_DATA #BEZUG! #WERT! #ZAHL! #NV #ÜBERLAUF! #NOM? "
    "#VALEUR! #NOMBRE! #NUL! #PROPAGATION! #¿NOMBRE? #¡REF! #¡VALOR! #¡DIV/0! #¡NUM! #¡NULO! #N/D "
    "#¡DESBORDAMIENTO! #NOME? #RIF! #VALORE! #NULLO! #VALOR! #NÚM! #NULO! #NAAM? #VERW! #WAARDE! "
    "#GETAL! #LEEG! #DEEL/0! #N/B #NAZWA? #ADR! #ARG! #LICZBA! #ZERO! #DZIEL/0! #N/D!".split()
)
_CODED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_ODD_SPACE = re.compile(r"[^\S\t\n\r ]")
_LISTS = {"[": "]", "(": ")", "{": "}"}
# A list as numpy writes it has no commas.
_WITHOUT_COMMAS = re.compile(r"\[(?:'[^']*'|\"[^\"]*\")(?:\s+(?:'[^']*'|\"[^\"]*\"))+\]")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
LONGEST_LIST = 10_000  # characters
LONGEST_LITERAL = 20_000


def as_sentence(changes: Changes) -> str:
    """A sentence that follows others; empty if nothing was changed."""
    listed = "; ".join(f"{what}: {count:,}" for what, count in changes.items() if count)
    return f" Changed: {listed}." if listed else ""


class SeveralValues(ValueError):
    """A cell that should have one value has a list of several."""

    def __init__(self, values: list[str]) -> None:
        self.values = values
        listed = ", ".join(value[:40] for value in values[:5])
        super().__init__(f"a list of {len(values)} values ({listed})")


def clean(text: str, changes: Changes | None = None, name: str = "a text") -> str:
    """A text as it is stored, in NFC and without invisible characters that mean nothing.

    Raises `ValueError` for half of a character, which no file can store; `name` says where.
    """
    if text.isascii():
        return text
    if half := HALF.search(text):
        raise ValueError(
            f"{name} has half of a character, the surrogate U+{ord(half[0]):04X}, at position "
            f"{half.start() + 1}. Write the whole character, or remove it"
        )
    cleaned = normalise(text)
    if changes is not None and (seen := len(INVISIBLE.findall(text))):
        if removed := seen - len(INVISIBLE.findall(cleaned)):
            changes[REMOVED] += removed
    return cleaned


def clean_values(value: Any, changes: Changes | None = None, path: str = "") -> Any:
    """A value of JSON with all its texts as `clean` returns them."""
    if isinstance(value, str):
        return clean(value, changes, path or "a text")
    if isinstance(value, list):
        return [clean_values(part, changes, path) for part in value]
    if isinstance(value, dict):
        return {
            clean(key, name="the name of a field"): clean_values(
                part, changes, f"{path}.{key}" if path else key
            )
            for key, part in value.items()
        }
    return value


@lru_cache(maxsize=4096)  # names of columns, ids and labels, each of which occurs often
def name_of(text: str) -> str:
    """An id, a label or the name of a column, without anything that cannot be seen."""
    text = INVISIBLE.sub("", normalise(text))
    return _ODD_SPACE.sub(" ", text).strip()


def value_of(text: str) -> str:
    """The one value of a cell: of a list of one, its element. Raises `SeveralValues`."""
    values = listed_values(text)
    if values is None:
        return text
    if len(values) > 1:
        raise SeveralValues(values)
    return values[0] if values else ""


def unlisted(text: str) -> str:
    """A text without the list around it, as Python writes a list of one; others as they are."""
    if text.startswith("[") and (values := listed_values(text)) and text == repr(values):
        return values[0] if len(values) == 1 else text
    return text


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[str, ...] | None:
    if _WITHOUT_COMMAS.fullmatch(text):
        return tuple(one or other for one, other in _QUOTED.findall(text))
    value = literal(text)
    if not isinstance(value, (list, tuple, set)):
        return None
    if any(isinstance(part, (list, tuple, set, dict)) for part in value):
        return None
    parts = sorted(value, key=str) if isinstance(value, set) else value
    return tuple("" if part is None else str(part).strip() for part in parts)


def listed_values(text: str) -> list[str] | None:
    """The values of a cell that is a list in JSON or Python; None for any other text."""
    text = text.strip()
    if len(text) > LONGEST_LIST or _LISTS.get(text[:1]) != text[-1:] or text[:1] == text:
        return None
    values = _parsed(text)
    return None if values is None else list(values)


def literal(text: str) -> Any:
    """The value that a cell writes as JSON or as a Python literal; None if it is neither."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    if len(text) > LONGEST_LITERAL:
        return None
    # Whatever a cell holds, no literal of it may end an import, nor its use as a text.
    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = ast.literal_eval(text)
        repr(value)  # refuses numbers of too many digits
        return value
    return None


def is_error(text: str) -> bool:
    """Whether a cell holds the error of a spreadsheet instead of a value."""
    return text.startswith("#") and text.strip() in _ERRORS


def decoded(text: str) -> str:
    """A text of a workbook, in which _x000D_ stands for a character that XML cannot hold."""
    if "_x" not in text:
        return text
    return _CODED.sub(_character, text)


def _character(code: "re.Match[str]") -> str:
    number = int(code[1], 16)
    return code[0] if 0xD800 <= number <= 0xDFFF else chr(number)
