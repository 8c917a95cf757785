"""The description of a run that commands, forms and plans build."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Self

from judging.bias.registry import probe_choice
from judging.errors import OUT_OF_RANGE, TOO_SMALL, ConflictingValue, InvalidValue, Reason
from judging.models import Judge, JudgeRun
from judging.protocols import framings, registry

MOST_SAMPLES = 100
MOST_ANCHORS = 1000

_NOT_POSITIVE = Reason("not_positive", "{field} must be more than 0 US dollars, not {value}.")
NO_PRICE = Reason(
    "no_price",
    "Judge “{judge}” has no price, so {field} cannot be kept: unknown is not free. Set its "
    "{names[price_input]} and {names[price_output]} (US dollars per million tokens; 0 for your own "
    "server), or use {names[token_budget]}.",
)
_NO_START = Reason(
    "no_start",
    "{field} are asked at the start and at the end, and a batch has neither. Leave {field} or "
    "{names[by_batch]} out.",
)
_NO_BATCHES = Reason("no_batches", "Judge “{judge}” cannot be asked by batch. Leave {field} out.")
_ONLY_DISCUSSED = Reason(
    "only_discussed",
    "{field}: “{setting}” goes on from the replies of a jury. When all its judges have answered, "
    "start it at the jury on the page of its campaign.",
)
_NO_STEPS_IN_BATCHES = Reason(
    "steps_in_batch",
    "Setting “{setting}” asks several requests for one judgment, so a batch cannot hold it. Leave "
    "{field} out.",
)
_REFLECTS_IN_BATCH = Reason(
    "steps_in_batch",
    "A probe with +reflection asks two requests for one judgment, so a batch cannot hold it. Leave "
    "{field} out.",
)
_NO_READING = Reason("no_reading", "{field} must be strict or lenient, not “{value}”.")
_NO_PROFILE = Reason(
    "no_profile", "{field}: “{probe}” changes the profile, which framing “{framing}” does not show."
)


class Reuse(StrEnum):
    """Which answers of other runs are used: none, those to the same request, those to its prompt.

    A request is the same if everything is that is sent. The number of its seed does not matter at
    a temperature of 0.
    """

    FRESH = "fresh"
    IDENTICAL = "identical"
    SAME_PROMPT = "same_prompt"


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The judge, the questions, and the limits of a run.

    `limit`: the number of items, in the order of their keys.
    `budget`, `token_budget`: US dollars and tokens of the whole run.
    `extend`: continue the run that had fewer samples, or only one order, and ask what is new.
    `reuse`: which answers that other runs have paid for are copied instead of asking again.
    `by_batch`: ask by files at a lower price, from this start.
    `wording_id`: the study's own wording, by the id of its `PromptTemplate`.
    `bias_probe`: a probe, as `judging.bias.registry` reads it; empty for an ordinary run.
    `prompt_language`: that of the words around the items; empty for that of the study.
    `reading`: how replies are read, in a new run.
    `discusses`: the ids of the runs whose replies are shown.
    `anchors`: the number of items that are asked again at the start and the end.
    """

    study_id: int
    judge_id: int
    setting: str = registry.DEFAULT
    features: str = "all"
    orders: str = JudgeRun.Orders.RANDOM
    samples: int = 1
    seed: int | None = None
    limit: int | None = None
    budget: Decimal | None = None
    token_budget: int | None = None
    extend: bool = False
    reuse: Reuse = Reuse.FRESH
    by_batch: bool = False
    wording_id: int | None = None
    framing: str = framings.OBSERVER
    bias_probe: str = ""
    prompt_language: str = ""
    reading: str = JudgeRun.Reading.LENIENT
    discusses: tuple[int, ...] = ()
    anchors: int = 0

    @classmethod
    def of(cls, run: JudgeRun, **changes: Any) -> Self:
        """The description of a stored run, with some changes."""
        fields: dict[str, Any] = {
            "study_id": run.study_id,
            "judge_id": run.judge_id,
            "setting": run.setting,
            "features": run.features,
            "orders": run.orders,
            "samples": run.samples,
            "seed": run.seed,
            "by_batch": run.by_batch,
            "wording_id": run.wording_id,
            "framing": run.framing,
            "bias_probe": run.bias_probe,
            "prompt_language": run.prompt_language,
            "reading": run.reading,
            "discusses": tuple(run.discusses),
            "anchors": run.anchors,
        }
        return cls(**fields | changes)

    def check(self, judge: Judge) -> None:
        """Raise `InvalidValue`, or `ConflictingValue` if this judge does not support a value."""
        if not 1 <= self.samples <= MOST_SAMPLES:
            raise InvalidValue(
                "samples", OUT_OF_RANGE, low=1, high=MOST_SAMPLES, value=self.samples
            )
        if self.limit is not None and self.limit < 1:
            raise InvalidValue("limit", TOO_SMALL, low=1, value=self.limit)
        if self.token_budget is not None and self.token_budget < 1:
            raise InvalidValue("token_budget", TOO_SMALL, low=1, value=self.token_budget)
        if self.budget is not None:
            if not self.budget.is_finite() or self.budget <= 0:
                raise InvalidValue("budget", _NOT_POSITIVE, value=self.budget)
            if not judge.is_priced:
                raise ConflictingValue("budget", NO_PRICE, judge=judge.name)
        if self.by_batch and not judge.capabilities.batch:
            raise ConflictingValue("by_batch", _NO_BATCHES, judge=judge.name)
        if not 0 <= self.anchors <= MOST_ANCHORS:
            raise InvalidValue(
                "anchors", OUT_OF_RANGE, low=0, high=MOST_ANCHORS, value=self.anchors
            )
        if self.by_batch and self.anchors:
            raise ConflictingValue("anchors", _NO_START)
        if self.by_batch and registry.protocol(self.setting).steps > 1:
            raise ConflictingValue("by_batch", _NO_STEPS_IN_BATCHES, setting=self.setting)
        if self.reading not in JudgeRun.Reading.values:
            raise InvalidValue("reading", _NO_READING, value=self.reading)
        if registry.protocol(self.setting).needs_others != bool(self.discusses):
            raise ConflictingValue("setting", _ONLY_DISCUSSED, setting=self.setting)
        self._check_probe()

    def _check_probe(self) -> None:
        choice = probe_choice(self.bias_probe)
        if choice.reflects and self.by_batch:
            raise ConflictingValue("by_batch", _REFLECTS_IN_BATCH)
        if choice.probe is not None and not choice.probe.has_target:
            framing = framings.framing(self.framing)
            if not framing.shows_profile:
                raise ConflictingValue(
                    "bias_probe", _NO_PROFILE, probe=choice.probe.name, framing=framing.name
                )
