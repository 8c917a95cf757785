"""The frozen analysis plan of a study and its seal. Pages import this, so it needs no arrays."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from judging.protocols.framings import OBSERVER

USUAL_FRAMING = OBSERVER
# The parts of the design that a plan seals, in words.
SEALED = {
    "items": "items",
    "annotations_per_item": "answers per item",
    "items_per_annotator": "items per annotator",
    "people": "number of people",
    "groups": "quota groups",
    "draw": "items drawn for annotators",
    "ties": "ties",
    "prompts": "wording of the planned runs",
}


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
