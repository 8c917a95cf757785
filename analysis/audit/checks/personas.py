"""Checks of personas: those that tell the answer, say little, or have most of the items."""

from collections import Counter
from typing import ClassVar

from analysis.audit.check import ItemCheck, ListedItems, counted, percent, plain
from analysis.audit.findings import AuditFinding, Effect, Level, State
from analysis.data.items.audited_items import AuditedItem, AuditedPersona, AuditedStudy

TOLD_SHARE = 0.2
FEW_FEATURES = 3
SHORT_TEXT = 40
DOMINANT = 0.2
FEW_PERSONAS = 5
_QUOTE_WORDS, _QUOTE_LETTERS = 3, 15


class AnswerInPersona(ListedItems):
    name: ClassVar[str] = "answer_in_persona"
    title: ClassVar[str] = "The profile contains the answer"
    counts: ClassVar[str] = "items whose own answer stands in the profile"
    rule = (
        f"The own answer ({_QUOTE_WORDS} words and {_QUOTE_LETTERS} letters or more) stands in the "
        "persona's features, text or earlier choices, and the other response does not. Blocks if "
        f"this is so in more than {percent(TOLD_SHARE)} of the items."
    )
    remedy: ClassVar[str] = (
        "Take the feature or the earlier choice out of the profile, or these items out of the "
        "study: finding a quotation is not judging for somebody."
    )
    found: ClassVar[str] = "{n} whose own answer stands in the profile."
    clear: ClassVar[str] = "No profile contains the own answer to its items."

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
        f"A persona has fewer than {FEW_FEATURES} features, no earlier choices, and less than "
        f"{SHORT_TEXT} characters of text."
    )
    remedy: ClassVar[str] = (
        "Add features, or leave these personas out: nobody can judge for a person about whom "
        "nearly nothing is known."
    )
    found: ClassVar[str] = "{n} about a persona of whom nearly nothing is known."
    clear: ClassVar[str] = "Something is known about every persona."

    def names(self, item: AuditedItem) -> bool:
        persona = item.persona
        told = sum(bool(sentence) for _, sentence in persona.features)
        return told < FEW_FEATURES and not persona.history and len(persona.text) < SHORT_TEXT


class DominantPersona(ItemCheck):
    """Finds one persona that has a large share of all items."""

    name: ClassVar[str] = "dominant_persona"
    title = "Items by persona"
    rule = (
        f"One persona has more than {percent(DOMINANT)} of the items, or there are fewer than "
        f"{FEW_PERSONAS} personas."
    )
    remedy = "Add items about other personas, or ask only some of the items about this one."

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
        # How many personas with equal shares would be as unequal as these.
        squares = sum(n * n for n in self._items.values())
        effective = total * total / squares if squares else 0.0
        is_found = bool(total) and (share > DOMINANT or len(self._items) < FEW_PERSONAS)
        return self.outcome(
            level=Level.ADVISORY if is_found else Level.INFORMATIVE,
            state=State.FOUND if is_found else State.CLEAR,
            sentence=(
                f"{counted(len(self._items), 'persona')}; the largest has {percent(share)} of the "
                f"items. They count like {effective:.0f} personas with equal shares."
            ),
            effect=Effect("items about the persona with most of them", share, total),
            keys=self._keys.get(persona, []) if is_found else [],
        )
