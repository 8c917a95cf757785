"""Checks of texts that occur more than once."""

import hashlib
from collections import Counter, defaultdict
from typing import ClassVar

from analysis.audit.check import (
    FEWEST,
    ItemCheck,
    ListedItems,
    counted,
    estimated_share,
    percent,
    plain,
)
from analysis.audit.findings import AuditFinding, Effect, Level, State
from analysis.data.items.audited_items import AuditedItem, AuditedStudy

ALIKE = 0.9
_SHINGLE = 3  # words
# A text that stands against so many others is no option of a question, which has one counterpart.
COUNTERPARTS = 3
REUSE_SHARE = 0.05
CUE_SHARE = 0.2
CUE_RIGHT = 0.75


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


class SamePair(ListedItems):
    name: ClassVar[str] = "same_pair"
    title: ClassVar[str] = "Two responses that say the same"
    counts: ClassVar[str] = "items with such a pair"
    rule = (
        f"Both responses are the same text but for marks and spaces, or share {percent(ALIKE)} of "
        "their runs of three words. Blocks if they are the same in more than 5 % of the items."
    )
    remedy: ClassVar[str] = "Delete these items: nobody can prefer one of two equal texts."
    found: ClassVar[str] = "{n} with two responses that are the same or nearly so."
    clear: ClassVar[str] = "The two responses of every item differ."

    def __init__(self) -> None:
        super().__init__()
        self.same = 0

    def names(self, item: AuditedItem) -> bool:
        # A question for each response, as in authorship, makes equal responses different.
        if item.prompts[0] != item.prompts[1]:
            return False
        one, two = (plain(text) for text in item.responses)
        if one == two:
            # Responses of marks alone, such as “+” and “-”, differ only in these.
            is_same = bool(one) or item.responses[0].strip() == item.responses[1].strip()
            self.same += is_same
            return is_same
        return _likeness(one, two) >= ALIKE

    def level_of(self, n: int) -> Level:
        return Level.BLOCKING if self.same > REUSE_SHARE * self.seen else Level.ADVISORY


def _likeness(one: str, two: str) -> float:
    """The share of runs of three words that two texts have in common; short texts share none."""
    if not 0.8 <= (len(one) + 1) / (len(two) + 1) <= 1.25:
        return 0.0
    a, b = _shingles(one), _shingles(two)
    return len(a & b) / len(a | b) if a and b else 0.0


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return set(zip(*(words[start:] for start in range(_SHINGLE)), strict=False))


class RepeatedItems(ListedItems):
    name: ClassVar[str] = "repeated_items"
    title: ClassVar[str] = "The same item twice"
    counts: ClassVar[str] = "items that repeat an earlier one"
    rule = (
        "An item has the persona, question and pair of responses of an earlier item, but for "
        "marks, spaces and the order of the pair."
    )
    remedy: ClassVar[str] = (
        "Delete the repetitions: they count as new evidence in every interval, and are none."
    )
    found: ClassVar[str] = "{n} that repeat an earlier one."
    clear: ClassVar[str] = "No item repeats another."

    def __init__(self) -> None:
        super().__init__()
        self._known: set[bytes] = set()

    def names(self, item: AuditedItem) -> bool:
        # Where marks are all that differs, as between “+” and “-”, the texts stay as they are.
        pair = sorted(
            f"{plain(prompt)}\0{plain(text) or text.strip()}"
            for prompt, text in zip(item.prompts, item.responses, strict=True)
        )
        about = [str(item.persona.number), plain(item.question), plain(item.context)]
        print_ = _digest("\0".join([*about, *pair]))
        is_known = print_ in self._known
        self._known.add(print_)
        return is_known


class ReusedDistractor(ItemCheck):
    """Finds texts that are the wrong response again and again: knowing them tells the answer."""

    name: ClassVar[str] = "reused_distractor"
    title = "One response in many items"
    rule = (
        f"A response occurs in more than {percent(REUSE_SHARE)} of the items, against "
        f"{COUNTERPARTS} or more different other responses. Blocks if such texts are in "
        f"{percent(CUE_SHARE)} of the items and tell the own answer in {percent(CUE_RIGHT)} of "
        "them or more (lower end of the interval)."
    )
    remedy = (
        "Draw the other responses again, each from another persona and each only a few times "
        "(the importers' option max_reuse does this)."
    )

    def __init__(self) -> None:
        self._seen = 0
        self._uses: Counter[bytes] = Counter()
        self._right: Counter[bytes] = Counter()
        self._against: dict[bytes, set[bytes]] = defaultdict(set)
        # Of each item: its key, its persona, both texts, and which of them is the own answer.
        self._items: list[tuple[str, int, bytes, bytes, int | None]] = []

    def look(self, item: AuditedItem) -> None:
        self._seen += 1
        one, two = (_digest(plain(text) or text) for text in item.responses)
        if one == two:
            return
        self._items.append((item.key, item.persona.number, one, two, item.own))
        for place, (own, other) in enumerate(((one, two), (two, one))):
            self._uses[own] += 1
            self._right[own] += item.own == place
            if len(self._against[own]) < COUNTERPARTS:
                self._against[own].add(other)

    def finding(self, study: AuditedStudy) -> AuditFinding:
        least = max(REUSE_SHARE * self._seen, 5)
        reused = {
            text
            for text, uses in self._uses.items()
            if uses > least and len(self._against[text]) >= COUNTERPARTS
        }
        rows = [row for row in self._items if (row[2] in reused) != (row[3] in reused)]
        keys = [row[0] for row in self._items if row[2] in reused or row[3] in reused]
        told = [row for row in rows if row[4] is not None]
        # One rule for all: the reused text is the answer if it mostly is, otherwise the other.
        often = sum(row[2 + (row[4] or 0)] in reused for row in told) * 2 > len(told)
        right = [(row[2 + (row[4] or 0)] in reused) == often for row in told]
        effect = None
        if len(told) >= FEWEST:
            words = "items whose own answer the reuse alone tells"
            effect = estimated_share(words, right, [row[1] for row in told])
        share = len(keys) / self._seen if self._seen else 0.0
        blocks = (
            share >= CUE_SHARE
            and effect is not None
            and effect.low is not None
            and effect.low >= CUE_RIGHT
        )
        return self.outcome(
            level=Level.BLOCKING if blocks else Level.ADVISORY,
            state=State.FOUND if reused else State.CLEAR,
            sentence=self._sentence(reused, keys, effect),
            effect=effect or Effect("items with such a response", share, self._seen),
            keys=keys,
        )

    def _sentence(self, reused: set[bytes], keys: list[str], effect: Effect | None) -> str:
        if not reused:
            return "No response occurs in many items."
        most = max(self._uses[text] for text in reused)
        words = (
            f"{counted(len(reused), 'text')} "
            f"{'is' if len(reused) == 1 else 'are'} a response in {counted(len(keys))}, one of "
            f"them {most:,} times."
        )
        if effect is None or effect.value is None:
            return words
        return f"{words} Knowing only this gives the own answer in {percent(effect.value)} of them."
