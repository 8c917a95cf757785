"""What a frozen analysis plan says, and who keeps it. Pages import this, so it needs no arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from judging.protocols.framings import OBSERVER
from studies.extra import Kind

if TYPE_CHECKING:
    from datetime import datetime

    from django.contrib.auth.models import User

    from studies.models import Study

USUAL_FRAMING = OBSERVER


@dataclass(frozen=True)
class FrozenPlan:
    """A frozen analysis plan, with the number of `answers` and `judgments` at that time.

    `content` holds threshold, margin, seed, bootstrap, analyses, exclusions, judges, hypotheses,
    and under `sealed` the items and the design at that time; a pooled plan has none.
    """

    content: Mapping[str, Any]
    answers: int
    judgments: int
    frozen_at: str
    seal: str = ""

    @property
    def is_before_data(self) -> bool:
        return self.answers == self.judgments == 0

    def sealed(self) -> str:
        """The hash of its content, which shows that the plan is unchanged."""
        digest = hashlib.sha256()
        feed(digest, "plan", asdict(replace(self, seal="")))
        return digest.hexdigest()


@dataclass(frozen=True)
class Departure:
    """A sealed and a current value, with the days (UTC) of the change and who made it.

    `on` and `by` are empty if the study's log does not record them.
    """

    what: str
    planned: str
    done: str
    on: str = ""
    by: str = ""


@dataclass(frozen=True)
class LateChange:
    """A change to threshold or margin after the first answer, with its day (UTC)."""

    setting: str
    before: float
    after: float
    on: str


def feed(digest: Any, name: str, value: Any) -> None:
    """Add a named value to a hash, with equal bytes for equal values."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    digest.update(f"{name}:{len(text)}:{text}\n".encode())


@dataclass(frozen=True)
class PlanAndData:
    """A study's plan, and what of its data differs from it.

    `departures` are those from the plan's seals. `is_sealed` says of each item whether the plan
    sealed it; None if all or none are. `begun` has day and starter of each run by its key, if the
    plan seals the words of runs.
    """

    plan: FrozenPlan | None = None
    departures: tuple[Departure, ...] = ()
    is_sealed: Sequence[bool] | None = None
    begun: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class PlanKeeper(Protocol):
    """An extra that keeps the plans of studies. Reports state them and mark numbers by them.

    A `study` without a type is a `ReportedStudy`, and `analyses` are those of the report.
    """

    name: str

    def content(self, study: Study) -> Mapping[str, Any]:
        """What the plan says, without a check of its seal; empty if there is none."""
        ...

    def read(self, study: Study, items: Sequence[str], *, at: datetime | None) -> PlanAndData:
        """The plan and the data, for the keys of the items; of a moment without departures.

        Raises `AnalysisError` if the plan was altered.
        """
        ...

    def alone(self, study: Any) -> Any | None:
        """The registered data alone; None if they are all data, or none."""
        ...

    def registration(
        self,
        study: Any,
        report: Mapping[str, Any],
        analyses: Sequence[Any],
        asked: Mapping[str, str],
    ) -> dict[str, Any]:
        """The plan, departures from it, and the mark of each analysis by its code."""
        ...

    def freeze(
        self,
        study: Study,
        *,
        judges: Sequence[Mapping[str, str]],
        hypotheses: str,
        user: User | None,
    ) -> FrozenPlan:
        """Freeze a plan with the study's own values and the usual analyses of these runs.

        Raises `AnalysisError`, also if there is a plan.
        """
        ...

    def effects(self, slug: str, *, bootstrap: int) -> list[dict[str, Any]]:
        """The deviations that can be undone in the data, and the results without each."""
        ...


# At most one.
KEEPERS: Kind[PlanKeeper] = Kind("reports", "plans")


def keeper() -> PlanKeeper | None:
    return next(iter(KEEPERS), None)
