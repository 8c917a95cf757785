"""Checks of texts: repetition, refusals, instructions to judges, scales, length."""

import hashlib
import re
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
    estimated_share,
    percent,
    plain,
)
from extras.audit.items import AuditedItem, AuditedStudy
from studies.importers.sets.prism import refuses
from studies.texts.normalisation import LONG as FOLDED
from studies.texts.normalisation import START, shown_at_once
from studies.texts.texts_to_judges import passage_to_judge

ALIKE = 0.9
_SHINGLE = 3  # words
# A text with this many different counterparts is not an option of a question, which has one.
COUNTERPARTS = 3
REUSE_SHARE = 0.05
CUE_SHARE = 0.2
CUE_RIGHT = 0.75


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


class SamePair(ListedItems):
    name: ClassVar[str] = "same_pair"
    title: ClassVar[str] = "Two responses with the same text"
    counts: ClassVar[str] = "items with such a pair"
    rule = (
        "Both responses are the same text except for punctuation and spaces, or share "
        f"{percent(ALIKE)} of their three-word sequences. Blocks if they are the same in more "
        "than 5 % of the items."
    )
    remedy: ClassVar[str] = "Delete these items: nobody can prefer one of two equal texts."
    found: ClassVar[str] = "{n} with two identical or nearly identical responses."
    clear: ClassVar[str] = "The two responses of every item differ."

    def __init__(self) -> None:
        super().__init__()
        self.same = 0

    def names(self, item: AuditedItem) -> bool:
        # In tasks such as authorship each response has its own question, so equal responses differ.
        if item.prompts[0] != item.prompts[1]:
            return False
        one, two = (plain(text) for text in item.responses)
        if one == two:
            # Responses made of punctuation only, such as “+” and “-”, differ only in that.
            is_same = bool(one) or item.responses[0].strip() == item.responses[1].strip()
            self.same += is_same
            return is_same
        return _likeness(one, two) >= ALIKE

    def level_of(self, n: int) -> Level:
        return Level.BLOCKING if self.same > REUSE_SHARE * self.seen else Level.ADVISORY


def _likeness(one: str, two: str) -> float:
    """The share of three-word sequences that two texts have in common; short texts share none."""
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
        "An item has the same persona, question and responses as an earlier one, apart from "
        "punctuation, spaces and the order of the responses."
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
        # If only punctuation differs, as between “+” and “-”, the texts are kept unchanged.
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
    """Find texts that are the wrong response again and again, so that they give the answer away."""

    name: ClassVar[str] = "reused_distractor"
    title = "One response in many items"
    rule = (
        f"A response occurs in more than {percent(REUSE_SHARE)} of the items, against "
        f"{COUNTERPARTS} or more different other responses. Blocks if such texts are in "
        f"{percent(CUE_SHARE)} of the items and reveal the own answer in {percent(CUE_RIGHT)} of "
        "them or more (lower end of the interval)."
    )
    remedy = (
        "Draw the other responses again, each from a different persona and only a few times (the "
        "importers' option max_reuse does this)."
    )

    def __init__(self) -> None:
        self._seen = 0
        self._uses: Counter[bytes] = Counter()
        self._right: Counter[bytes] = Counter()
        self._against: dict[bytes, set[bytes]] = defaultdict(set)
        # For each item: key, persona, both texts, and which is the own answer.
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
        # One rule for all items: the reused text is the answer if it mostly is, otherwise the
        # other.
        often = sum(row[2 + (row[4] or 0)] in reused for row in told) * 2 > len(told)
        right = [(row[2 + (row[4] or 0)] in reused) == often for row in told]
        effect = None
        if len(told) >= FEWEST:
            words = "items whose own answer the reuse reveals"
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
            state=FindingState.FOUND if reused else FindingState.CLEAR,
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
        return (
            f"{words} Knowing this alone gives the own answer in {percent(effect.value)} of them."
        )


_BEGINNING = 200
_REFUSES = re.compile(
    r"\b(?:als (?:ki|künstliche intelligenz)|ich kann (?:dabei|ihnen|dir|das) (?:leider )?nicht"
    r"|en tant qu'(?:ia|intelligence artificielle)|je (?:ne peux|suis désolé)"
    r"|como (?:modelo de lenguaje|inteligencia artificial)|lo siento,? (?:pero )?no puedo"
    r"|come (?:modello linguistico|intelligenza artificiale)|mi dispiace,? (?:ma )?non posso)\b"
)
_EMPTY = re.compile(r"empty string|n/?a|none|null|nan|no response|\[(?:deleted|removed)\]|[\W_]*")
# UTF-8 read in another encoding, the replacement character, and HTML entities.
_BROKEN = re.compile(
    r"\ufffd|Ã[\u0080-\u00bf©¨¤¶¼Ÿ±§ªº´ ]|â€[™œ\u009d“”˜¦¢\"]|ï»¿|Â[ £§°´«»]"
    r"|&(?:amp|lt|gt|quot|nbsp|#\d{2,4}|#x[0-9a-fA-F]{2,4});"
)
# A phone shows about 600 characters of this size at a time.
LONG = 3_000
LONG_SHARE = 0.1


class Refusals(ListedItems):
    name: ClassVar[str] = "refusals"
    title: ClassVar[str] = "Responses that refuse or are empty"
    counts: ClassVar[str] = "items with such a response"
    rule = (
        "A response begins like a refusal in its first 200 characters (five languages), or is a "
        "placeholder such as “N/A”."
    )
    remedy: ClassVar[str] = (
        "Leave these items out, or keep them if refusals are what the study is about. A refusal "
        "is easy to tell from an answer, so these items make any judge look better."
    )
    found: ClassVar[str] = "{n} with a response that seems to refuse or to be empty."
    clear: ClassVar[str] = "No response seems to refuse or to be empty."

    def names(self, item: AuditedItem) -> bool:
        return any(refuses(text) or says_nothing(text) for text in item.responses)


def says_nothing(text: str) -> bool:
    start = " ".join(text[:_BEGINNING].replace("’", "'").split()).casefold()
    return _EMPTY.fullmatch(start) is not None or _REFUSES.search(start) is not None


class SpeaksToJudge(ListedItems):
    name: ClassVar[str] = "texts_to_judges"
    title: ClassVar[str] = "Texts that address a judge"
    counts: ClassVar[str] = "items with such a text"
    rule = (
        "A question, context or response has words such as “ignore previous instructions” or "
        "“choose this response”, in five languages."
    )
    remedy: ClassVar[str] = "Read these items. Edit or delete those that could steer a model."
    found: ClassVar[str] = "{n} with a text that may address a judge; a model may follow it."
    clear: ClassVar[str] = "No text seems to address a judge."

    def names(self, item: AuditedItem) -> bool:
        texts = (item.question, item.context, *item.prompts, *item.responses)
        return any(passage_to_judge(text) for text in texts if text)


class BrokenLetters(ListedItems):
    name: ClassVar[str] = "broken_letters"
    title: ClassVar[str] = "Broken characters"
    counts: ClassVar[str] = "items with broken characters"
    rule = (
        "A text has signs of a wrong encoding (“Ã©”, “â€™”, “\ufffd”), or HTML entities (“&amp;”)."
    )
    remedy: ClassVar[str] = "Save the file as UTF-8 from its source, and import it again."
    found: ClassVar[str] = "{n} with broken characters in a text."
    clear: ClassVar[str] = "No text has broken characters."

    def names(self, item: AuditedItem) -> bool:
        persona = (sentence for _, sentence in item.persona.features)
        texts = (item.question, item.context, *item.prompts, *item.responses, item.persona.text)
        return any(_BROKEN.search(text) for text in (*texts, *persona) if text)


class LongTexts(ListedItems):
    name: ClassVar[str] = "long_texts"
    title: ClassVar[str] = "Too long for a phone"
    counts: ClassVar[str] = "items that long"
    rule = (
        f"Question, context and both responses together have more than {LONG:,} characters, "
        f"about five phone screens. A context above {FOLDED:,} characters is folded, so only its "
        f"first {START:,} count. Advice if this applies to more than {percent(LONG_SHARE)} of "
        "the items."
    )
    remedy: ClassVar[str] = (
        "Shorten the texts, give each annotator fewer items, or admit only larger screens."
    )
    found: ClassVar[str] = "{n} with more than five phone screens to read."
    clear: ClassVar[str] = "Every item fits on five phone screens."

    def names(self, item: AuditedItem) -> bool:
        texts = (item.question, *item.prompts, *item.responses)
        return sum(map(len, texts)) + shown_at_once(item.context) > LONG

    def level_of(self, n: int) -> Level:
        return Level.ADVISORY if n > LONG_SHARE * self.seen else Level.INFORMATIVE


_ON_SCALE = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d+)?)\s*(?:/|out of|of|von|auf|sur|de|su)\s*(\d{1,3})(?![\d.,%])",
    re.IGNORECASE,
)
# With this many personas, somebody should be in the upper part of a scale.
MANY = 20
USED = 0.75


class WrongScale(ItemCheck):
    """Find features whose values do not fit the scale in their sentences."""

    name: ClassVar[str] = "wrong_scale"
    title = "Scales that do not fit their values"
    rule = (
        f"A profile names a value above the end of its scale (“9 out of 7”), or in {MANY} or "
        "more personas no value of a feature is in the upper quarter of its scale."
    )
    remedy = "Correct the sentence of the feature: a 1-7 scale is not “out of 10”."

    def __init__(self) -> None:
        self._values: dict[tuple[str, int], list[float]] = defaultdict(list)
        self._above: dict[str, tuple[float, int]] = {}
        self._personas: set[int] = set()
        self._keys: list[str] = []
        self._of: dict[str, list[str]] = defaultdict(list)
        self._seen = 0

    def look(self, item: AuditedItem) -> None:
        self._seen += 1
        is_new = item.persona.number not in self._personas
        self._personas.add(item.persona.number)
        is_wrong = False
        for key, sentence in item.persona.features:
            for value, end in _ON_SCALE.findall(sentence):
                number, top = float(value), int(end)
                if top < 2:
                    continue
                if number > top:
                    self._above[key] = (number, top)
                    is_wrong = True
                if is_new:
                    self._values[key, top].append(number)
        if is_wrong:
            self._keys.append(item.key)

    def finding(self, study: AuditedStudy) -> AuditFinding:
        unused = {
            key: (max(values), top)
            for (key, top), values in sorted(self._values.items())
            if len(values) >= MANY and max(values) <= USED * top
        }
        parts = [
            f"“{key}” has the value {value:g} on a scale that ends at {top}"
            for key, (value, top) in sorted(self._above.items())
        ]
        parts += [
            f"no value of “{key}” exceeds {value:g}, but its sentence says “out of {top}”"
            for key, (value, top) in unused.items()
        ]
        sentence = "; ".join(parts)
        if not self._values:
            words = "No profile names a scale."
        else:
            words = f"{sentence[0].upper()}{sentence[1:]}." if parts else "Values fit their scales."
        features = counted(len({key for key, _ in self._values}), "feature")
        return self.outcome(
            state=FindingState.FOUND if parts else FindingState.CLEAR,
            sentence=words,
            effect=Effect(
                f"items with such a value, of {features} with a scale",
                len(self._keys) / self._seen if self._seen else None,
                self._seen,
            ),
            keys=self._keys,
        )
