"""Whether there are enough items for the precision that the study plans."""

import math
from typing import ClassVar

from analysis.audit.check import ItemCheck, counted
from analysis.audit.findings import Effect, Finding, State
from analysis.data.items.audited_items import AuditedItem, AuditedStudy

# Accuracies in this field are near this value, where intervals are nearly as wide as they can be.
EXPECTED = 0.6


class TooFewItems(ItemCheck):
    name: ClassVar[str] = "too_few_items"
    title = "Enough items"
    rule = (
        "The 95 % interval of an accuracy of 60 % is wider than the study's equivalence margin on "
        "either side. Answers are taken as independent, so at least this many items are needed."
    )
    remedy = "Add items with own answers, or plan a wider margin in the settings."

    def __init__(self) -> None:
        self._labelled = 0

    def look(self, item: AuditedItem) -> None:
        self._labelled += item.own is not None

    def finding(self, study: AuditedStudy) -> Finding:
        n, margin = self._labelled, study.margin
        if not n:
            words = "No item has an own answer, so there is no accuracy to be precise about."
            return self.outcome(State.UNKNOWN, words)
        half = half_width(n)
        needed = items_for(margin)
        words = (
            f"{counted(n)} with an own answer give an accuracy within ± {half * 100:.1f} points; "
            f"the margin of ± {margin * 100:g} points needs {needed:,} items or more."
        )
        effect = Effect("half the width of the interval of an accuracy of 60 %", half, n)
        state = State.FOUND if n < needed else State.CLEAR
        return self.outcome(state, words, effect=effect)


def half_width(n: int) -> float:
    """Half the width of Wilson's 95 % interval of the expected accuracy from `n` answers."""
    from analysis.stats.core.proportions import wilson_ends

    low, high = wilson_ends(EXPECTED, n, 1.959963984540054)
    return (high - low) / 2


def items_for(margin: float) -> int:
    """The fewest items whose interval is no wider than the margin on either side."""
    few, many = 1, 2
    while half_width(many) > margin:
        few, many = many, 2 * many
    while many - few > 1:
        middle = math.floor((few + many) / 2)
        few, many = (middle, many) if half_width(middle) > margin else (few, middle)
    return many
