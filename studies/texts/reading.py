"""Long texts: from which length on they are folded, and how long reading them takes."""

import math
from dataclasses import dataclass

# About three screens of a phone. A longer context would push the responses out of reach.
LONG = 2_000
START = 600
# About 220 English words; a round number, because people and texts differ.
_LETTERS_PER_MINUTE = 1_200


@dataclass(frozen=True)
class Reading:
    """A long text on a page: what is shown of it before it is opened, and its reading time."""

    start: str
    minutes: int


def reading_of(text: str) -> Reading | None:
    """How a text is folded; None if it is short enough to be shown whole."""
    if len(text) <= LONG:
        return None
    # Ends with a whole word, unless the language has no spaces between them.
    start = text[:START].rstrip()
    cut = start.rpartition(" ")[0]
    start = cut if len(cut) > START // 2 else start
    return Reading(f"{start} …", math.ceil(len(text) / _LETTERS_PER_MINUTE))


def shown_at_once(text: str) -> int:
    """The letters of a text that a page shows before anything is opened."""
    return len(text) if len(text) <= LONG else START
