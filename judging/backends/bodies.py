"""The JSON of a response, as servers write it."""

import json
from typing import Any

# A longer number counts as infinite: it is no count of tokens, and Python refuses to read it.
_MOST_DIGITS = 1_000


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


# Some servers write line breaks into texts as they are.
_DECODER = json.JSONDecoder(strict=False, parse_int=_whole_number)


def body_text(content: bytes | str) -> str:
    """The text of a body in UTF-8, UTF-16 or UTF-32.

    A server may cut a character in two between tokens.
    """
    if isinstance(content, str):
        return content
    return content.decode(json.detect_encoding(content), "replace")


def body_value(content: bytes | str) -> Any:
    """The value of a body; what follows it says nothing more.

    Raises `ValueError` or `RecursionError`.
    """
    return _DECODER.raw_decode(body_text(content).lstrip(" \t\r\n"))[0]
