"""What a check of the audit says about the items of a study. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

SHOWN = 50


class Level(StrEnum):
    """How much a finding matters. A blocking one keeps the study closed until it is accepted."""

    BLOCKING = "blocking"
    ADVISORY = "advisory"
    INFORMATIVE = "informative"


class State(StrEnum):
    FOUND = "found"
    CLEAR = "clear"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Effect:
    """The share that a check measured, with its 95 % interval if there is one.

    `value` is a share in 0..1 of `n` items, `of` says in words what is counted.
    """

    of: str
    value: float | None
    n: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class NamedItems:
    """The items that a check names: how many, and the first `SHOWN` of them by key."""

    count: int = 0
    keys: tuple[str, ...] = ()

    @classmethod
    def of(cls, keys: Sequence[str]) -> "NamedItems":
        return cls(len(keys), tuple(keys[:SHOWN]))


@dataclass(frozen=True)
class AuditFinding:
    """The outcome of one check.

    `sentence` says what was found, or why nothing can be said. `rule` is when the check reports,
    with its threshold, and `remedy` is what the researcher can do.
    """

    check: str
    title: str
    level: Level
    state: State
    sentence: str
    rule: str
    remedy: str
    effect: Effect | None = None
    rows: NamedItems = field(default_factory=NamedItems)

    @property
    def is_found(self) -> bool:
        return self.state == State.FOUND

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def finding_from(stored: Mapping[str, Any]) -> AuditFinding:
    """A finding as `as_json` wrote it."""
    fields = dict(stored)
    effect, rows = fields.pop("effect"), fields.pop("rows")
    return AuditFinding(
        **fields | {"level": Level(fields["level"]), "state": State(fields["state"])},
        effect=Effect(**effect) if effect else None,
        rows=NamedItems(rows["count"], tuple(rows["keys"])),
    )


def count_of(findings: list[AuditFinding], level: Level) -> int:
    return sum(one.is_found and one.level == level for one in findings)
