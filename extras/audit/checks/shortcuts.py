"""Checks for shortcuts that answer an item without reading it: side, length, source, persona."""

from abc import abstractmethod
from collections import Counter, defaultdict
from typing import ClassVar

from extras.audit.findings import (
    FEWEST,
    AuditFinding,
    Effect,
    FindingState,
    ItemCheck,
    Level,
    ListedItems,
    counted,
    distance_from_half,
    estimated_share,
    percent,
    plain,
)
from extras.audit.items import AuditedItem, AuditedPersona, AuditedStudy

# A rule of thumb that beats a coin by this much, at the near end of its interval.
STRONG = 0.25
FEW_LABELLED = 0.5


class _Cue(ItemCheck):
    """A rule that picks a response without reading it, and how often that is the own answer."""

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
        """The position of the response that the rule picks, or None."""

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
            return self.outcome(FindingState.UNKNOWN, words)
        effect = estimated_share(
            f"items whose own answer is {self.cue[0].lower()}{self.cue[1:]}",
            self._right,
            self._personas,
        )
        if effect.low is None or effect.high is None or effect.value is None:
            words = "Too few personas for an interval, so this cannot be checked."
            return self.outcome(FindingState.UNKNOWN, words, effect=effect)
        near = distance_from_half(effect)
        words = (
            f"{self.cue} is the own answer in {percent(effect.value)} of {counted(n)} "
            f"({percent(effect.low)} to {percent(effect.high)})."
        )
        state = FindingState.FOUND if near > MARGIN else FindingState.CLEAR
        return self.outcome(state, words, effect=effect, level=self.level(near))


class SideTells(_Cue):
    """The side as stored, which matters only if sides are not shuffled."""

    name: ClassVar[str] = "side_tells"
    title: ClassVar[str] = "The side gives the answer away"
    cue: ClassVar[str] = "Response 1"
    remedy: ClassVar[str] = (
        "Shuffle the sides (order.shuffle in the file; the default), and do not always show "
        "judges response 1 first."
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
        """Blocks if most items always show the same response first."""
        if self._fixed * 2 > self._seen and distance > STRONG:
            return Level.BLOCKING
        return Level.ADVISORY if self._fixed else Level.INFORMATIVE


class LengthTells(_Cue):
    name: ClassVar[str] = "length_tells"
    title: ClassVar[str] = "The length gives the answer away"
    cue: ClassVar[str] = "The longer response"
    remedy: ClassVar[str] = (
        "Compare accuracy with “always the longer one” (the report does), or draw pairs of "
        "similar length."
    )

    def named(self, item: AuditedItem) -> int | None:
        one, two = map(len, item.responses)
        return None if one == two else int(two > one)


class SourceTells(ItemCheck):
    """Look for a source (a model, a person, a data set) whose responses nearly always win."""

    name: ClassVar[str] = "source_tells"
    title = "The source gives the answer away"
    rule = (
        "A source's responses are the own answer in more or less than half of its items, by "
        f"more than {percent(STRONG)} at the near end of the 95 % interval, in {FEWEST} items or "
        "more."
    )
    remedy = (
        "Mention the difference when you report results, or draw pairs from sources of similar "
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
            return self.outcome(FindingState.UNKNOWN, words)
        name, effect = max(known.items(), key=lambda pair: distance_from_half(pair[1]))
        value, low, high = effect.value or 0.0, effect.low or 0.0, effect.high or 0.0
        words = (
            f"Of {counted(len(known), 'source')}, “{name}” differs most: it is the own answer in "
            f"{percent(value)} of {counted(effect.n)} ({percent(low)} to {percent(high)})."
        )
        state = FindingState.FOUND if distance_from_half(effect) > STRONG else FindingState.CLEAR
        return self.outcome(state, words, effect=effect)


class AnswersMissing(ItemCheck):
    """Count own answers: without them there is no accuracy."""

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
            state=FindingState.FOUND if missing else FindingState.CLEAR,
            sentence=f"{', '.join(parts)}.",
            effect=Effect("items with an own answer", (n - missing) / n if n else None, n),
            keys=self._keys,
        )


TOLD_SHARE = 0.2
FEW_FEATURES = 3
SHORT_TEXT = 40
DOMINANT = 0.2
FEW_PERSONAS = 5
_QUOTE_WORDS, _QUOTE_LETTERS = 3, 15


class AnswerInPersona(ListedItems):
    name: ClassVar[str] = "answer_in_persona"
    title: ClassVar[str] = "The profile contains the answer"
    counts: ClassVar[str] = "items whose own answer is in the profile"
    rule = (
        f"The own answer ({_QUOTE_WORDS} words and {_QUOTE_LETTERS} letters or more) is in the "
        "persona's features, text or earlier choices, and the other response is not. Blocks "
        f"above {percent(TOLD_SHARE)} of the items."
    )
    remedy: ClassVar[str] = (
        "Remove the feature or earlier choice from the profile, or these items from the study: "
        "finding a quotation is not judging for somebody."
    )
    found: ClassVar[str] = "{n} whose own answer is in the profile."
    clear: ClassVar[str] = "No profile contains the own answer to one of its items."

    def __init__(self) -> None:
        super().__init__()
        self._profile: tuple[int, str] = (-1, "")

    def names(self, item: AuditedItem) -> bool:
        if item.own is None:
            return False
        profile = self._profile_of(item.persona)
        texts = [plain(text) for text in item.responses]
        return _is_quoted(texts[item.own], profile) and not _is_quoted(texts[1 - item.own], profile)

    def _profile_of(self, persona: AuditedPersona) -> str:
        if persona.number != self._profile[0]:
            texts = [sentence for _, sentence in persona.features]
            whole = " | ".join(plain(text) for text in (*texts, persona.text, *persona.history))
            self._profile = (persona.number, f" {whole} ")
        return self._profile[1]

    def level_of(self, n: int) -> Level:
        return Level.BLOCKING if n > TOLD_SHARE * self.seen else Level.ADVISORY


def _is_quoted(text: str, profile: str) -> bool:
    is_long = len(text) >= _QUOTE_LETTERS and len(text.split()) >= _QUOTE_WORDS
    return is_long and f" {text} " in profile


class SparsePersonas(ListedItems):
    name: ClassVar[str] = "sparse_personas"
    title: ClassVar[str] = "Personas that say little"
    counts: ClassVar[str] = "items about such a persona"
    rule = (
        f"A persona has fewer than {FEW_FEATURES} features, no earlier choices, and fewer than "
        f"{SHORT_TEXT} characters of text."
    )
    remedy: ClassVar[str] = (
        "Add features, or leave these personas out: nobody can judge for a person they know "
        "almost nothing about."
    )
    found: ClassVar[str] = "{n} about a persona with almost no information."
    clear: ClassVar[str] = "Every persona has some information."

    def names(self, item: AuditedItem) -> bool:
        persona = item.persona
        told = sum(bool(sentence) for _, sentence in persona.features)
        return told < FEW_FEATURES and not persona.history and len(persona.text) < SHORT_TEXT


class DominantPersona(ItemCheck):
    """Find a persona that has a large share of all items."""

    name: ClassVar[str] = "dominant_persona"
    title = "Items by persona"
    rule = (
        f"One persona has more than {percent(DOMINANT)} of the items, or there are fewer than "
        f"{FEW_PERSONAS} personas."
    )
    remedy = "Add items about other personas, or use fewer items about this one."

    def __init__(self) -> None:
        self._items: Counter[int] = Counter()
        self._keys: dict[int, list[str]] = {}

    def look(self, item: AuditedItem) -> None:
        self._items[item.persona.number] += 1
        self._keys.setdefault(item.persona.number, []).append(item.key)

    def finding(self, study: AuditedStudy) -> AuditFinding:
        total = self._items.total()
        persona, most = self._items.most_common(1)[0] if total else (0, 0)
        share = most / total if total else 0.0
        # The effective number of personas: as precise as this many with equal shares.
        squares = sum(n * n for n in self._items.values())
        effective = total * total / squares if squares else 0.0
        is_found = bool(total) and (share > DOMINANT or len(self._items) < FEW_PERSONAS)
        return self.outcome(
            level=Level.ADVISORY if is_found else Level.INFORMATIVE,
            state=FindingState.FOUND if is_found else FindingState.CLEAR,
            sentence=(
                f"{counted(len(self._items), 'persona')}; the largest has {percent(share)} of the "
                f"items. They are worth {counted(round(effective), 'persona')} with equal shares."
            ),
            effect=Effect("items about the persona with most of them", share, total),
            keys=self._keys.get(persona, []) if is_found else [],
        )


UNUSED = 0.7
MARGIN = 0.05


class SidePreferred(ItemCheck):
    """Look for judges that prefer the response shown first, or last.

    Sides are balanced, so an unbiased judge chooses each about equally often.
    """

    name: ClassVar[str] = "side_preferred"
    title = "Judges that prefer a side"
    rule = (
        f"A run chooses the response shown first in more than {percent(0.5 + MARGIN)} or less than "
        f"{percent(0.5 - MARGIN)} of its answers, at the near end of the 95 % interval."
    )
    remedy = "Ask in both orders (orders: both), and read the report's chapter on position."

    def finding(self, study: AuditedStudy) -> AuditFinding:
        known = [
            (
                one.judge,
                estimated_share("answers for the side shown first", one.first, one.personas),
            )
            for one in study.sides
            if len(one.first) >= FEWEST
        ]
        strongest = max(known, key=lambda pair: distance_from_half(pair[1]), default=None)
        if strongest is None or strongest[1].low is None:
            words = f"No run has {FEWEST} answers and enough personas for an interval."
            return self.outcome(FindingState.UNKNOWN, words)
        judge, effect = strongest
        words = f"{judge} chooses the response shown first in {percent(effect.value or 0.0)} of "
        words += f"{counted(effect.n, 'answer')} "
        words += f"({percent(effect.low or 0.0)} to {percent(effect.high or 0.0)})"
        words += ", the most one-sided run." if len(known) > 1 else "."
        state = FindingState.FOUND if distance_from_half(effect) > MARGIN else FindingState.CLEAR
        return self.outcome(state, words, effect=effect)


class PersonaUnused(ItemCheck):
    name: ClassVar[str] = "persona_unused"
    title = "Items that need no persona"
    rule = (
        f"A judge chooses the same with and without the persona in more than {percent(UNUSED)} of "
        "the items (lower end of the interval). Needs a run with all features and one with none."
    )
    remedy = (
        "Choose items on which people differ, or more informative personas: if nobody needs the "
        "persona, the study measures general preferences."
    )

    def __init__(self) -> None:
        self._personas: dict[str, int] = {}

    def look(self, item: AuditedItem) -> None:
        self._personas[item.key] = item.persona.number

    def finding(self, study: AuditedStudy) -> AuditFinding:
        pair = study.without_persona
        same = pair.same if pair else {}
        keys = [key for key in sorted(same) if key in self._personas]
        if pair is None or len(keys) < FEWEST:
            words = f"No judge has judged {FEWEST} items both with and without the persona."
            return self.outcome(FindingState.UNKNOWN, words)
        effect = estimated_share(
            "items with the same choice without the persona",
            [same[key] for key in keys],
            [self._personas[key] for key in keys],
        )
        value = percent(effect.value or 0.0)
        words = f"{pair.judge} chooses the same without the persona in {value} of "
        words += f"{counted(len(keys))}"
        if effect.low is None or effect.high is None:
            return self.outcome(
                FindingState.UNKNOWN, f"{words}; too few personas for an interval.", effect=effect
            )
        words += f" ({percent(effect.low)} to {percent(effect.high)})."
        is_found = effect.low > UNUSED
        alike = [key for key in keys if same[key]]
        return self.outcome(
            FindingState.FOUND if is_found else FindingState.CLEAR,
            words,
            effect=effect,
            keys=alike if is_found else [],
        )
