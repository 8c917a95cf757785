"""Checks of the whole study: enough items, enough time, and the items' source."""

import math
from collections import Counter
from typing import ClassVar

from analysis.precision import half_width, items_for, times_as_many
from extras.audit.findings import AuditFinding, Effect, FindingState, ItemCheck, Level, counted
from extras.audit.items import AuditedItem, AuditedStudy
from studies.texts.normalisation import FAST_WORDS_PER_MINUTE, JUDGING_SECONDS, WORDS_PER_MINUTE


class TooFewItems(ItemCheck):
    name: ClassVar[str] = "too_few_items"
    title = "Number of items"
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
            shared = f", which share personas or questions and count as {n / times:,.0f},"
        words = (
            f"{counted(n)} with an own answer{shared} give an accuracy within ±{half * 100:.1f} "
            f"points; the margin of ±{margin * 100:g} points needs {needed:,} items or more"
            f"{', with new personas and questions' if shared else ''}."
        )
        effect = Effect("half the width of the interval of an accuracy of 60 %", half, n)
        state = FindingState.FOUND if n < needed else FindingState.CLEAR
        return self.outcome(state, words, effect=effect)


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
