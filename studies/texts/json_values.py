"""Values of JSON from outside, and what is wrong with a text that holds none."""

import json
from collections.abc import Callable
from typing import Any

_MOST_DIGITS = 1_000


class NotJson(ValueError):
    """Why a text is not JSON, in words for people."""


def whole_number_of(digits: str) -> int:
    """A whole number as JSON has it; Python's own refusal of a long one names its settings."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS:,} digits; write it as text")
    return int(digits)


Pairs = Callable[[list[tuple[str, Any]]], Any]


def json_value(
    content: bytes | str,
    *,
    constant: Callable[[str], Any] | None = None,
    pairs: Pairs | None = None,
) -> Any:
    """The value of a text in UTF-8 or UTF-16; `constant` reads NaN, `pairs` makes the objects.

    Raises `NotJson`.
    """
    try:
        return json.loads(
            content,
            parse_int=whole_number_of,
            parse_constant=constant,
            object_pairs_hook=pairs,
        )
    except RecursionError:
        raise NotJson("objects and lists are nested too deep") from None
    except UnicodeDecodeError:
        raise NotJson("it is not in UTF-8") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
