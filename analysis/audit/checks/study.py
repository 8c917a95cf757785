"""Checks of the whole study: enough items, enough time, and the items' source."""

import math
import operator
from collections import Counter
from collections.abc import Iterable
from functools import cache
from statistics import NormalDist
from typing import ClassVar

from analysis.audit.findings import AuditFinding, Effect, FindingState, ItemCheck, Level, counted
from analysis.data.item_texts import AuditedItem, AuditedStudy
from studies.texts.normalisation import FAST_WORDS_PER_MINUTE, JUDGING_SECONDS, WORDS_PER_MINUTE

# A typical accuracy in this field, where intervals are nearly at their widest.
EXPECTED = 0.6
# Assumed standard deviations on the logit scale: the difficulty shared by items of one persona, or
# of one question, and that of a single item.
SD_SHARED, SD_ITEM = 0.25, 1.0


class TooFewItems(ItemCheck):
    name: ClassVar[str] = "too_few_items"
    title = "Enough items"
    rule = (
        "The 95 % interval of an accuracy of 60 % is wider than the study's equivalence margin "
        "on either side. Items that share a persona or a question count for less, assuming that "
        "shared difficulty has an SD of .25 on the logit scale."
    )
    remedy = "Add items with own answers, or set a wider margin in the settings."

    def __init__(self) -> None:
        self._labelled = 0
        self._personas: Counter[int] = Counter()
        self._questions: Counter[int] = Counter()

    def look(self, item: AuditedItem) -> None:
        if item.own is None:
            return
        self._labelled += 1
        self._personas[item.persona.number] += 1
        if item.question:
            self._questions[hash(item.question)] += 1

    def finding(self, study: AuditedStudy) -> AuditFinding:
        n, margin = self._labelled, study.margin
        if not n:
            words = "No item has an own answer, so there is no accuracy to estimate."
            return self.outcome(FindingState.UNKNOWN, words)
        times = times_as_many(n, self._personas, self._questions)
        half = half_width(n / times)
        needed = math.ceil(items_for(margin) * times - 1e-9)
        shared = ""
        if round(n / times) < n:
            shared = f", as {n / times:,.0f} that share no persona and no question would"
        words = (
            f"{counted(n)} with an own answer give an accuracy within ± {half * 100:.1f} points"
            f"{shared}; the margin of ± {margin * 100:g} points needs {needed:,} items or more"
            f"{', with new personas and questions' if shared else ''}."
        )
        effect = Effect("half the width of the interval of an accuracy of 60 %", half, n)
        state = FindingState.FOUND if n < needed else FindingState.CLEAR
        return self.outcome(state, words, effect=effect)


def times_as_many(n: int, *kinds: Counter[int]) -> float:
    """The design effect: how many times more items it takes because they share personas or
    questions.

    `kinds` count the items of each persona and of each question. Correctness on two items that
    share one is correlated as in `alike`.
    """
    pairs = sum(size * (size - 1) for kind in kinds for size in kind.values())
    return 1 + alike() * pairs / n


@cache
def alike() -> float:
    """Correlation of correctness on two items that share a persona or a question."""
    steps = [n / 4 for n in range(-24, 25)]
    weights = [math.exp(-(step**2) / 2) for step in steps]
    total, rest = sum(weights), math.hypot(SD_ITEM, SD_SHARED)

    def mean(values: Iterable[float]) -> float:
        return sum(map(operator.mul, weights, values)) / total

    def given_shared(ease: float) -> list[float]:
        return [
            mean(1 / (1 + math.exp(-ease - SD_SHARED * shared - rest * own)) for own in steps)
            for shared in steps
        ]

    low, high = 0.0, 5.0
    for _ in range(50):
        ease = (low + high) / 2
        low, high = (ease, high) if mean(given_shared(ease)) < EXPECTED else (low, ease)
    both = mean(share**2 for share in given_shared(low))
    return (both - EXPECTED**2) / (EXPECTED * (1 - EXPECTED))


def half_width(n: float) -> float:
    """Half the width of Wilson's 95 % interval of the expected accuracy from `n` answers.

    Pages compute it too, so it needs no numpy.
    """
    z = NormalDist().inv_cdf(0.975)
    return z / (1 + z**2 / n) * math.sqrt(EXPECTED * (1 - EXPECTED) / n + (z / (2 * n)) ** 2)


def items_for(margin: float) -> int:
    """The fewest items whose interval is no wider than the margin on either side."""
    few, many = 1, 2
    while half_width(many) > margin:
        few, many = many, 2 * many
    while many - few > 1:
        middle = math.floor((few + many) / 2)
        few, many = (middle, many) if half_width(middle) > margin else (few, middle)
    return many


class TooLittleTime(ItemCheck):
    name: ClassVar[str] = "too_little_time"
    title: ClassVar[str] = "Time to read the items"
    rule = (
        "The duration in the settings is too short for the items of one annotator: "
        f"{WORDS_PER_MINUTE} words per minute, every sound in full, and {JUDGING_SECONDS} "
        f"seconds to judge each item. Advice if it is too short even at {FAST_WORDS_PER_MINUTE} "
        "words per minute, faster than most adults read. Consent, instructions and other pages "
        "are not counted."
    )
    remedy: ClassVar[str] = (
        "Give each annotator fewer items, shorten the texts, or set a longer duration and raise "
        "the pay."
    )

    def finding(self, study: AuditedStudy) -> AuditFinding:
        expected = study.expected
        if expected is None:
            return self.outcome(FindingState.UNKNOWN, "No item is for annotators.")
        words = (
            f"{expected.words}, {expected.fast_minutes:.0f} if read fast. The study states "
            f"{counted(study.minutes, 'minute')}."
        )
        state = FindingState.FOUND if expected.minutes > study.minutes else FindingState.CLEAR
        too_fast = expected.fast_minutes > study.minutes
        share = study.minutes / expected.minutes
        return self.outcome(
            state,
            words,
            effect=Effect(
                "the stated duration as a share of the expected one one", share, expected.items
            ),
            level=Level.ADVISORY if too_fast else Level.INFORMATIVE,
        )


class LicenceMissing(ItemCheck):
    name: ClassVar[str] = "licence"
    title = "Licence"
    rule = "Noted if the study's source names no licence; “Ready to launch?” has its own advice."
    remedy = (
        "Name the licence in the settings, or in dataset.json before you import the items: a "
        "bundle cannot be published without it."
    )

    def finding(self, study: AuditedStudy) -> AuditFinding:
        words = (
            f"The items’ licence is {study.licence}." if study.licence else "No licence is named."
        )
        return self.outcome(
            state=FindingState.CLEAR if study.licence else FindingState.FOUND,
            sentence=words,
            level=Level.INFORMATIVE,
        )


_LIMITS = {
    "allowed": "The items may be passed on.",
    "non-commercial": "The items may be passed on for non-commercial purposes.",
    "forbidden": "The items may not be passed on: exports leave their texts out.",
    "unknown": "It is not known whether the items may be passed on.",
}


class SharingLimited(ItemCheck):
    name: ClassVar[str] = "redistribution"
    title = "Passing items on"
    rule = "For your information, if the source does not allow every use."
    remedy = (
        "Ask the source before you send items to a provider of models abroad or publish them; the "
        "study's settings say what is allowed."
    )

    def finding(self, study: AuditedStudy) -> AuditFinding:
        return self.outcome(
            level=Level.INFORMATIVE,
            state=FindingState.CLEAR if study.redistribution == "allowed" else FindingState.FOUND,
            sentence=_LIMITS.get(study.redistribution, _LIMITS["unknown"]),
        )
