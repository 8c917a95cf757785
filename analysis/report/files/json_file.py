"""report.json as text: what a person may read is indented, each row of a long list is one line."""

import json
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any

# A longer list holds rows of items or people. Python writes one line many times as fast as an
# indented entry.
LONG = 100
LINES = 1000  # of a long list, made at once

_line = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def to_json(result: Mapping[str, Any]) -> str:
    """The text of report.json: keys in order of writing, full precision, never NaN."""
    return "".join(json_parts(result))


def json_parts(result: Mapping[str, Any]) -> Iterator[str]:
    """The same text in parts, so that a file can be written without holding all of it."""
    yield from _parts(result, "\n")
    yield "\n"


def _parts(value: Any, line: str) -> Iterator[str]:
    """The text of a value; `line` begins a line as far in as the value is."""
    within = f"{line} "
    if isinstance(value, Mapping) and value:
        yield "{"
        for comma, (key, entry) in zip(_commas(), value.items(), strict=False):
            # JSON has only texts as keys: 60 becomes "60".
            yield f"{comma}{within}{_line(key if isinstance(key, str) else _line(key))}: "
            yield from _parts(entry, within)
        yield f"{line}}}"
    elif isinstance(value, list | tuple) and value:
        yield "["
        if len(value) > LONG:
            for start in range(0, len(value), LINES):
                yield f"{',' if start else ''}{within}"
                yield f",{within}".join(map(_line, value[start : start + LINES]))
        else:
            for comma, entry in zip(_commas(), value, strict=False):
                yield f"{comma}{within}"
                yield from _parts(entry, within)
        yield f"{line}]"
    else:
        yield _line(value)


def _commas() -> Iterator[str]:
    """What stands before each entry: nothing before the first."""
    yield ""
    yield from repeat(",")
