"""Findings of the audit, and base classes of its checks."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from extras.audit.items import AuditedItem, AuditedStudy

SHOWN = 50


class Level(StrEnum):
    """Severity of a finding. A blocking one keeps the study closed until it is accepted."""

    BLOCKING = "blocking"
    ADVISORY = "advisory"
    INFORMATIVE = "informative"


class FindingState(StrEnum):
    FOUND = "found"
    CLEAR = "clear"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Effect:
    """The share that a check measured, with its 95 % interval if there is one.

    `value` is a share in 0..1 of `n` items; `of` describes what is counted.
    """

    of: str
    value: float | None
    n: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class NamedItems:
    """The items that a check names: their number, and the first `SHOWN` by key."""

    count: int = 0
    keys: tuple[str, ...] = ()

    @classmethod
    def of(cls, keys: Sequence[str]) -> "NamedItems":
        return cls(len(keys), tuple(keys[:SHOWN]))


@dataclass(frozen=True)
class AuditFinding:
    """The outcome of one check.

    `sentence` says what was found, or why nothing could be checked. `rule` says when the check
    reports, with its threshold; `remedy` is what the researcher can do.
    """

    check: str
    title: str
    level: Level
    state: FindingState
    sentence: str
    rule: str
    remedy: str
    effect: Effect | None = None
    rows: NamedItems = field(default_factory=NamedItems)

    @property
    def is_found(self) -> bool:
        return self.state == FindingState.FOUND

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def finding_from(stored: Mapping[str, Any]) -> AuditFinding:
    """A finding as `as_json` wrote it."""
    fields = dict(stored)
    effect, rows = fields.pop("effect"), fields.pop("rows")
    return AuditFinding(
        **fields | {"level": Level(fields["level"]), "state": FindingState(fields["state"])},
        effect=Effect(**effect) if effect else None,
        rows=NamedItems(rows["count"], tuple(rows["keys"])),
    )


def count_of(findings: list[AuditFinding], level: Level) -> int:
    return sum(one.is_found and one.level == level for one in findings)


# Fewer labelled items cannot test a rule that predicts the own answer.
FEWEST = 30
_NOT_WORDS = re.compile(r"[\W_]+")


class ItemCheck(ABC):
    """A check that sees every item once, ordered by key, and then reports what it found."""

    name: ClassVar[str]
    title: ClassVar[str]
    rule: str
    remedy: ClassVar[str]

    def look(self, item: AuditedItem) -> None:  # noqa: B027 - some checks are of the study only
        """Look at one item."""

    @abstractmethod
    def finding(self, study: AuditedStudy) -> AuditFinding:
        """Report the finding, after the last item."""

    def outcome(
        self,
        state: FindingState,
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
    """A text reduced to lower-case letters and digits, to ignore punctuation and spaces."""
    return _NOT_WORDS.sub(" ", text.casefold()).strip()


def counted(n: int, noun: str = "item") -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


class ListedItems(ItemCheck):
    """A check that names single items, and reports a finding if it names any."""

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
            FindingState.FOUND if n else FindingState.CLEAR,
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
    """Distance of the interval's near end from one half; -1 without an interval."""
    if effect.low is None or effect.high is None:
        return -1.0
    return max(effect.low - 0.5, 0.5 - effect.high)
