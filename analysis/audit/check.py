"""What a check of the audit is, and what checks share."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from analysis.audit.findings import AuditFinding, Effect, Level, NamedItems, State
from analysis.data.items.audited_items import AuditedItem, AuditedStudy

# Fewer labelled items than this say nothing about a rule that predicts the own answer.
FEWEST = 30
_NOT_WORDS = re.compile(r"[\W_]+")


class ItemCheck(ABC):
    """Sees every item once, in the order of keys, and then says what it found."""

    name: ClassVar[str]
    title: ClassVar[str]
    rule: str
    remedy: ClassVar[str]

    def look(self, item: AuditedItem) -> None:  # noqa: B027 - some checks are of the study only
        """Take note of an item."""

    @abstractmethod
    def finding(self, study: AuditedStudy) -> AuditFinding:
        """Say what was found, after the last item."""

    def outcome(
        self,
        state: State,
        sentence: str,
        *,
        effect: Effect | None = None,
        level: Level = Level.ADVISORY,
        keys: Sequence[str] = (),
    ) -> AuditFinding:
        """A finding of this check; `keys` are the items that it names."""
        return AuditFinding(
            check=self.name,
            title=self.title,
            level=level,
            state=state,
            sentence=sentence,
            rule=self.rule,
            remedy=self.remedy,
            effect=effect,
            rows=NamedItems.of(keys),
        )


def plain(text: str) -> str:
    """A text in small letters and digits only, so that marks and spaces make no difference."""
    return _NOT_WORDS.sub(" ", text.casefold()).strip()


def counted(n: int, noun: str = "item") -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


class ListedItems(ItemCheck):
    """A check that names items one by one: it is found as soon as it names one."""

    counts: ClassVar[str]
    found: ClassVar[str]
    clear: ClassVar[str]

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.seen = 0

    def look(self, item: AuditedItem) -> None:
        self.seen += 1
        if self.names(item):
            self.keys.append(item.key)

    @abstractmethod
    def names(self, item: AuditedItem) -> bool:
        """Whether an item has the fault."""

    def finding(self, study: AuditedStudy) -> AuditFinding:
        n = len(self.keys)
        return self.outcome(
            State.FOUND if n else State.CLEAR,
            self.found.format(n=counted(n)) if n else self.clear,
            effect=share_of(self.counts, n, self.seen),
            level=self.level_of(n),
            keys=self.keys,
        )

    def level_of(self, n: int) -> Level:
        return Level.ADVISORY


def share_of(of: str, n: int, total: int) -> Effect:
    """A share of the study's own items, which is exact and has no interval."""
    return Effect(of, n / total if total else None, total)


def estimated_share(of: str, right: Sequence[bool], personas: Sequence[int]) -> Effect:
    """A share with the interval for other personas and items."""
    import numpy as np

    from analysis.stats.accuracy.general_accuracy import general_proportion
    from analysis.stats.core.proportions import wilson_proportion
    from analysis.stats.core.shared_variance import Sharing

    sharing = Sharing.of_items(len(right), {"persona": np.asarray(personas, dtype=np.int64)})
    cell = general_proportion(right, sharing)
    if cell.interval is None and len(set(personas)) == len(personas):
        cell = wilson_proportion(right)
    if cell.interval is None:
        return Effect(of, cell.value, cell.n)
    return Effect(of, cell.value, cell.n, cell.interval.low, cell.interval.high)


def distance_from_half(effect: Effect) -> float:
    """How far the near end of the interval is from one half; -1 without an interval."""
    if effect.low is None or effect.high is None:
        return -1.0
    return max(effect.low - 0.5, 0.5 - effect.high)
