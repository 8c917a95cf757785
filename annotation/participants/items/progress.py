"""An annotator's progress through their items."""

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import NamedTuple

from annotation.models import Assignment
from annotation.seats.open_items import answers_so_far

# This many answers are needed to estimate an annotator's pace.
_PACE_NEEDS = 5
# A break is offered after this many items, unless so few are left that nobody needs one.
_BREAK_EVERY, _BREAK_LEAVES = 15, 5


class ItemProgress(NamedTuple):
    """One of an annotator's items: its position, and the time its answer took."""

    position: int
    answered: bool
    milliseconds: int | None
    skipped: bool = False

    @property
    def done(self) -> bool:
        return self.answered or self.skipped


@dataclass(frozen=True)
class ProgressOnItems:
    """An annotator's items in order; attention checks count like any other, so none stands out."""

    places: tuple[ItemProgress, ...]

    @property
    def total(self) -> int:
        return len(self.places)

    @cached_property
    def answered(self) -> int:
        return sum(place.answered for place in self.places)

    @cached_property
    def done(self) -> int:
        """How many items are answered or were skipped."""
        return sum(place.done for place in self.places)

    @cached_property
    def next_position(self) -> int | None:
        """The first position that is neither answered nor skipped, or None."""
        return next((place.position for place in self.places if not place.done), None)

    def number(self, position: int) -> int:
        """The number of the item among all that the annotator sees, from 1."""
        return min(self.total, 1 + sum(place.position < position for place in self.places))

    def before(self, position: int) -> int | None:
        """The previous position, or None at the first one."""
        earlier = [place.position for place in self.places if place.position < position]
        return earlier[-1] if earlier else None

    def may_open(self, position: int) -> bool:
        """Whether the item is done or is the current one."""
        return position == self.next_position or any(
            place.done for place in self.places if place.position == position
        )

    def offers_break(self, position: int) -> bool:
        """Whether to offer a break here: the item is the current one and begins a new section."""
        is_turn = position == self.next_position
        is_mark = self.done > 0 and self.done % _BREAK_EVERY == 0
        return is_turn and is_mark and self.total - self.done >= _BREAK_LEAVES

    @cached_property
    def minutes_left(self) -> int | None:
        """Own median pace times items left; None before the pace is known and at the end."""
        times = [place.milliseconds for place in self.places if place.milliseconds is not None]
        left = self.total - self.done
        if len(times) < _PACE_NEEDS or not left:
            return None
        return max(1, math.floor(median(times) * left / 60_000 + 0.5))


def progress_of(annotator_id: int) -> ProgressOnItems:
    """The annotator's progress, in one query for any number of items.

    An item counts as answered if it has an answer, even if its seat was released after a time-out:
    an annotator who resumes does not see the item again.
    """
    return ProgressOnItems(
        tuple(
            ItemProgress(
                position,
                answer is not None,
                elapsed if active is None else active,
                state == Assignment.State.SKIPPED,
            )
            for position, state, answer, active, elapsed in answers_so_far(annotator_id)
        )
    )
