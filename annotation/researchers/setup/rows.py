"""Forms with any number of rows that work without a script: every button sends the whole page."""

from collections.abc import Mapping, Sequence
from typing import Any

from studies.pages.numbers import whole_number

Row = dict[str, str]


def read_rows(data: Mapping[str, Any], name: str, fields: Sequence[str], *, most: int) -> list[Row]:
    """The rows that were sent: `name`-0-field, `name`-1-field …; `name`-rows counts them."""
    count = whole_number(data.get(f"{name}-rows", ""), most=most) or 0
    return [
        {field: data.get(f"{name}-{number}-{field}", "").strip() for field in fields}
        for number in range(count)
    ]


def arranged(rows: Sequence[Row], action: str) -> list[Row]:
    """The rows after a button such as “remove-2”, “up-1” or “down-0”; others change nothing."""
    verb, _, place = action.partition("-")
    number = whole_number(place)
    changed = list(rows)
    if number is None or number >= len(changed):
        return changed
    if verb == "remove":
        del changed[number]
    elif verb == "up" and number > 0:
        changed[number - 1 : number + 1] = changed[number], changed[number - 1]
    elif verb == "down" and number < len(changed) - 1:
        changed[number : number + 2] = changed[number + 1], changed[number]
    return changed


def lines(text: str) -> list[str]:
    """The lines of a text box that say something."""
    return [line.strip() for line in text.splitlines() if line.strip()]
