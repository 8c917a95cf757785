"""Checks of what predicts the own answer without reading: side, length, source."""

from abc import abstractmethod
from collections import Counter, defaultdict
from typing import ClassVar

from analysis.audit.check import (
    FEWEST,
    ItemCheck,
    counted,
    distance_from_half,
    estimated_share,
    percent,
)
from analysis.audit.findings import AuditFinding, Effect, Level, State
from analysis.data.items.audited_items import AuditedItem, AuditedStudy

# A rule of thumb right this much more often than a coin, at the near end of its interval.
MARGIN = 0.05
STRONG = 0.25
FEW_LABELLED = 0.5


class _Cue(ItemCheck):
    """A rule that names one response without reading: how often is it the own answer?"""

    cue: ClassVar[str]

    def __init__(self) -> None:
        self.rule = (
            f"{self.cue} is the own answer more or less often than in half of the items, by more "
            f"than {percent(MARGIN)} at the near end of the 95 % interval."
        )
        self._right: list[bool] = []
        self._personas: list[int] = []

    @abstractmethod
    def named(self, item: AuditedItem) -> int | None:
        """The place of the response that the rule names, or None."""

    def look(self, item: AuditedItem) -> None:
        if item.own is not None and (named := self.named(item)) is not None:
            self._right.append(named == item.own)
            self._personas.append(item.persona.number)

    def level(self, distance: float) -> Level:
        return Level.ADVISORY

    def finding(self, study: AuditedStudy) -> AuditFinding:
        n = len(self._right)
        if n < FEWEST:
            words = f"Only {counted(n)} with an own answer to compare; {FEWEST} are needed."
            return self.outcome(State.UNKNOWN, words)
        effect = estimated_share(
            f"items in which the own answer is {self.cue[0].lower()}{self.cue[1:]}",
            self._right,
            self._personas,
        )
        if effect.low is None or effect.high is None or effect.value is None:
            words = "Too few personas for an interval, so nothing can be said."
            return self.outcome(State.UNKNOWN, words, effect=effect)
        near = distance_from_half(effect)
        words = (
            f"{self.cue} is the own answer in {percent(effect.value)} of {counted(n)} "
            f"({percent(effect.low)} to {percent(effect.high)})."
        )
        state = State.FOUND if near > MARGIN else State.CLEAR
        return self.outcome(state, words, effect=effect, level=self.level(near))


class SideTells(_Cue):
    """Side as stored. It matters to people and models only where sides are not shuffled."""

    name: ClassVar[str] = "side_tells"
    title: ClassVar[str] = "The side tells the answer"
    cue: ClassVar[str] = "Response 1"
    remedy: ClassVar[str] = (
        "Let sides be shuffled (order.shuffle in the file; the default), and do not ask judges "
        "with response 1 always first."
    )

    def __init__(self) -> None:
        super().__init__()
        self.rule += (
            " Advice if some items are not shuffled; blocks if most are not and it is more than "
            f"{percent(STRONG)} from half."
        )
        self._fixed = self._seen = 0

    def named(self, item: AuditedItem) -> int | None:
        return 0

    def look(self, item: AuditedItem) -> None:
        self._seen += 1
        self._fixed += item.is_fixed
        super().look(item)

    def level(self, distance: float) -> Level:
        """It blocks if most items show the same response first to everybody."""
        if self._fixed * 2 > self._seen and distance > STRONG:
            return Level.BLOCKING
        return Level.ADVISORY if self._fixed else Level.INFORMATIVE


class LengthTells(_Cue):
    name: ClassVar[str] = "length_tells"
    title: ClassVar[str] = "The length tells the answer"
    cue: ClassVar[str] = "The longer response"
    remedy: ClassVar[str] = (
        "Report accuracy next to “always the longer one” (the report does), or draw pairs of "
        "similar length."
    )

    def named(self, item: AuditedItem) -> int | None:
        one, two = map(len, item.responses)
        return None if one == two else int(two > one)


class SourceTells(ItemCheck):
    """Looks for a source (a model, a person, a data set) whose responses nearly always win."""

    name: ClassVar[str] = "source_tells"
    title = "The source tells the answer"
    rule = (
        f"The responses of a source are the own answer in more or less than half of its items, by "
        f"more than {percent(STRONG)} at the near end of the 95 % interval, in {FEWEST} items or "
        "more."
    )
    remedy = (
        "Say in the report that sources differ this much, or draw pairs from sources of similar "
        "quality."
    )

    def __init__(self) -> None:
        self._right: dict[str, list[bool]] = defaultdict(list)
        self._personas: dict[str, list[int]] = defaultdict(list)

    def look(self, item: AuditedItem) -> None:
        one, two = item.sources
        if item.own is None or one == two:
            return
        for place, source in enumerate(item.sources):
            if source:
                self._right[source].append(item.own == place)
                self._personas[source].append(item.persona.number)

    def finding(self, study: AuditedStudy) -> AuditFinding:
        effects = {
            source: estimated_share(
                f"items in which the response by “{source}” is the own answer",
                right,
                self._personas[source],
            )
            for source, right in sorted(self._right.items())
            if len(right) >= FEWEST
        }
        known = {name: one for name, one in effects.items() if one.low is not None}
        if not known:
            words = f"No source is named in {FEWEST} items with own answers."
            return self.outcome(State.UNKNOWN, words)
        name, effect = max(known.items(), key=lambda pair: distance_from_half(pair[1]))
        value, low, high = effect.value or 0.0, effect.low or 0.0, effect.high or 0.0
        words = (
            f"Of {counted(len(known), 'source')}, “{name}” differs most: it is the own answer in "
            f"{percent(value)} of {counted(effect.n)} ({percent(low)} to {percent(high)})."
        )
        state = State.FOUND if distance_from_half(effect) > STRONG else State.CLEAR
        return self.outcome(state, words, effect=effect)


class AnswersMissing(ItemCheck):
    """Counts own answers: with none there is no accuracy."""

    name: ClassVar[str] = "own_answers"
    title = "Own answers and ties"
    rule = f"Advice if fewer than {percent(FEW_LABELLED)} of the items have an own answer."
    remedy = (
        "Import the persona's own answers if they exist. Without them the report compares people "
        "and judges with each other only."
    )

    def __init__(self) -> None:
        self._labels: Counter[str] = Counter()
        self._keys: list[str] = []

    def look(self, item: AuditedItem) -> None:
        self._labels[item.label] += 1
        if not item.label:
            self._keys.append(item.key)

    def finding(self, study: AuditedStudy) -> AuditFinding:
        n = self._labels.total()
        missing = self._labels[""]
        parts = [f"{n - missing:,} of {counted(n)} have an own answer"]
        parts += [f"{self._labels['tie']:,} of them a tie"] if self._labels["tie"] else []
        few = n - missing < FEW_LABELLED * n
        return self.outcome(
            level=Level.ADVISORY if few else Level.INFORMATIVE,
            state=State.FOUND if missing else State.CLEAR,
            sentence=f"{', '.join(parts)}.",
            effect=Effect("items with an own answer", (n - missing) / n if n else None, n),
            keys=self._keys,
        )
