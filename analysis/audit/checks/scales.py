"""Checks of numbers in profiles that name a scale: “4 out of 10”."""

import re
from collections import defaultdict
from typing import ClassVar

from analysis.audit.check import ItemCheck, counted
from analysis.audit.findings import AuditFinding, Effect, State
from analysis.data.items.audited_items import AuditedItem, AuditedStudy

_ON_SCALE = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d+)?)\s*(?:/|out of|of|von|auf|sur|de|su)\s*(\d{1,3})(?![\d.,%])",
    re.IGNORECASE,
)
# With so many different personas, somebody would have used the upper part of a scale.
MANY = 20
USED = 0.75


class WrongScale(ItemCheck):
    """Finds features whose values do not fit the scale that their sentences name."""

    name: ClassVar[str] = "wrong_scale"
    title = "Scales that do not fit their values"
    rule = (
        "A profile names a value above the end of its scale (“9 out of 7”), or over "
        f"{MANY} personas or more no value of a feature lies in the upper quarter of its scale."
    )
    remedy = "Correct the sentence of the feature: a 1-7 scale is not “out of 10”."

    def __init__(self) -> None:
        self._values: dict[tuple[str, int], list[float]] = defaultdict(list)
        self._above: dict[str, tuple[float, int]] = {}
        self._personas: set[int] = set()
        self._keys: list[str] = []
        self._of: dict[str, list[str]] = defaultdict(list)
        self._seen = 0

    def look(self, item: AuditedItem) -> None:
        self._seen += 1
        is_new = item.persona.number not in self._personas
        self._personas.add(item.persona.number)
        is_wrong = False
        for key, sentence in item.persona.features:
            for value, end in _ON_SCALE.findall(sentence):
                number, top = float(value), int(end)
                if top < 2:
                    continue
                if number > top:
                    self._above[key] = (number, top)
                    is_wrong = True
                if is_new:
                    self._values[key, top].append(number)
        if is_wrong:
            self._keys.append(item.key)

    def finding(self, study: AuditedStudy) -> AuditFinding:
        unused = {
            key: (max(values), top)
            for (key, top), values in sorted(self._values.items())
            if len(values) >= MANY and max(values) <= USED * top
        }
        parts = [
            f"“{key}” has the value {value:g} on a scale that ends at {top}"
            for key, (value, top) in sorted(self._above.items())
        ]
        parts += [
            f"no value of “{key}” exceeds {value:g}, but its sentence says “out of {top}”"
            for key, (value, top) in unused.items()
        ]
        sentence = "; ".join(parts)
        if not self._values:
            words = "No profile names a scale."
        else:
            words = f"{sentence[0].upper()}{sentence[1:]}." if parts else "Values fit their scales."
        features = counted(len({key for key, _ in self._values}), "feature")
        return self.outcome(
            state=State.FOUND if parts else State.CLEAR,
            sentence=words,
            effect=Effect(
                f"items with such a value, of {features} with a scale",
                len(self._keys) / self._seen if self._seen else None,
                self._seen,
            ),
            keys=self._keys,
        )
