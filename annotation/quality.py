"""Quality figures and advisory flags of annotators. A flag decides nothing.

Every flag names its rule, the value and the threshold. Disagreement and wrong guesses are not
misconduct: a researcher decides on each exclusion and gives a reason.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import log, sqrt
from statistics import NormalDist, median, stdev
from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet
from django.db.models.fields.json import KT

from annotation.agreement import ComparedAnswer, RaterAgreement, agreement, at_most
from annotation.machine_signs import (
    FLAGGED,
    MachineSign,
    SignedAnswer,
    points_of,
    signs_of,
)
from annotation.models import Annotation, Annotator, AnnotatorEvent, Assignment, Translated
from studies.models import Choice, Item, Study

# People who read fast and skip what they have seen before reach 1,000 words a minute. At 1,500,
# nobody takes in both responses.
FASTEST_WORDS_PER_MINUTE = 1_500
# The lowest plausible standard deviation of the logarithm of a person's times, about a quarter of
# the typical time. It is usually .3 to .6 within a person.
LEAST_SPREAD_OF_TIMES = 0.25
# A shorter absence may be just a notification.
HIDDEN_SECONDS = 5
# The browser stops counting after a minute without movement, so more missing time may be quiet
# reading.
QUIET_SECONDS = 60
# A pattern is flagged if a careful annotator's answers are this unlikely to show it. With 100
# annotators and two such rules, one false flag is expected in five studies.
IMPROBABLE = 0.001
SMALLEST_SPREAD = 3
# Some people use only two values, such as 80 and 85: a small spread counts only if this share of
# the certainties is one value.
SAME_CERTAINTY = 0.95
# A habit, as opposed to a slip: at least this share of the answers.
MOST_ANSWERS = 0.5
# Fewer answers say nothing about an annotator.
FEWEST = 10

# Answers must not decide about pay, so settling shows the other flags without any consequence.
OF_CONDUCT = frozenset(
    {"speed", "even_times", "page_hidden", "no_active_time", "one_sided", "failed_checks"}
)

_STANDING = (Annotation.Standing.COUNTED, Annotation.Standing.IMPORTED)
_ANSWERED_HERE = frozenset(Annotation.Standing.values) - {Annotation.Standing.IMPORTED}
_CHOICES = tuple(Choice.values)

RULES = {
    "speed": "Faster than reading",
    "even_times": "The same time for every item",
    "page_hidden": "Away from the page while answering",
    "no_active_time": "No active time from the browser",
    "one_sided": "Mostly the same side",
    "flat_certainty": "Always the same certainty",
    "failed_checks": "Failed attention checks",
    "media_missing": "Answered without pictures or recordings",
    "translated": "Saw a translated page",
    "same_browser": "Shared a browser with another annotator",
    "disagreement": "Disagrees with other annotators",
    "machine": "Signs of a program",
}

# The reliability of each rule; tests simulate the rates of the last one.
CAUTIONS = {
    "speed": "Measured with the slower of two clocks. People typically read about 238 words per "
    "minute.",
    "even_times": "Programs answer at an even pace. Also flags up to 1 in 1,000 annotators, and "
    "more if all items are very short.",
    "page_hidden": "Another page or program was in front, for example a chat, or a second tab with "
    "music or messages. A window next to the page goes unnoticed.",
    "no_active_time": "Browsers without scripts send none, and neither do programs that only send "
    "answers. Few people switch scripts off.",
    "one_sided": "Also flags 1 in 1,000 annotators whose answers do not depend on the side.",
    "flat_certainty": "A rule of thumb. Its error rate is unknown.",
    "failed_checks": "Careful annotators miss one now and then.",
    "media_missing": "A file did not load, and the annotator chose to answer without it. Check the "
    "items: the server may be at fault.",
    "translated": "A browser or an extension changed the words, so the annotator judged other "
    "words than models did. The page cannot notice every translator.",
    "same_browser": "Two people may share a device, as in a household or a class. It may also be "
    "one person who took part twice. Somebody who uses another browser goes unnoticed.",
    "disagreement": "Also flags up to 1 in 1,000 careful annotators, and up to 1 in 100 if "
    "annotators judge very differently. Disagreeing is not misconduct.",
    "machine": "In simulations it flags 1 in 100 people: those who copy every text into a "
    "translator outside the page. It misses programs that imitate hands.",
}


@dataclass(frozen=True)
class Flag:
    """A triggered rule, its value, and the threshold."""

    rule: str
    value: float
    threshold: float

    @property
    def label(self) -> str:
        return RULES[self.rule]

    @property
    def caution(self) -> str:
        return CAUTIONS[self.rule]

    def __str__(self) -> str:
        return {
            "speed": f"Read {self.value:,.0f} words per minute; flagged above "
            f"{self.threshold:,.0f}.",
            "even_times": f"Times for the items vary by {self.value:.0%}; flagged below "
            f"{self.threshold:.0%}.",
            "page_hidden": f"The page was hidden for {HIDDEN_SECONDS} seconds or more in "
            f"{self.value:.0%} of the answers; flagged from {self.threshold:.0%}.",
            "no_active_time": f"{self.value:.0%} of the answers came without active time; flagged "
            f"from {self.threshold:.0%}.",
            "one_sided": f"Chose response A in {self.value:.0%} of the answers. The probability of "
            f"a pattern this one-sided is below {self.threshold:g}.",
            "flat_certainty": f"Stated the same certainty almost every time. Standard deviation: "
            f"{self.value:.3g}, flagged below {self.threshold:.3g}.",
            "failed_checks": f"Failed {self.value:.0f} attention checks; flagged from "
            f"{self.threshold:.0f}.",
            "media_missing": f"Gave {self.value:.0f} answers without a picture or recording that "
            f"did not load; flagged from {self.threshold:.0f}.",
            "translated": f"Gave {self.value:.0f} answers on a page that was translated; flagged "
            f"from {self.threshold:.0f}.",
            "same_browser": f"Annotators of this study in the same browser: {self.value:.0f} "
            f"more; flagged from {self.threshold:.0f}.",
            "disagreement": f"Disagreed with the majority on {self.value:.0%} of the items without "
            f"a unanimous answer; expected: {self.threshold:.0%}.",
            "machine": f"{self.value:.0f} points; flagged from {self.threshold:.0f}.",
        }[self.rule].replace("%", "\u00a0%")


@dataclass(frozen=True)
class Quality:
    """An annotator's figures; None if they cannot be computed."""

    answers: int = 0
    words_per_minute: float | None = None
    spread_of_times: float | None = None
    hidden: float | None = None
    without_active_time: float | None = None
    median_active_seconds: float | None = None
    median_elapsed_seconds: float | None = None
    share_a: float | None = None
    sd_certainty: float | None = None
    checks_seen: int = 0
    checks_failed: int = 0
    media_missing: int = 0
    translated: int = 0
    same_browser: int = 0
    agreement: float | None = None
    compared: int = 0
    signs: tuple[MachineSign, ...] | None = None  # None if nothing was measured
    flags: tuple[Flag, ...] = ()

    @property
    def machine_points(self) -> int | None:
        return None if self.signs is None else points_of(self.signs)

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(flag.rule for flag in self.flags)


NOTHING = Quality()


class _AnswerRow(NamedTuple):
    annotator: int
    item: int
    split: str
    right: str
    shown_first: str
    choice: str
    certainty: int | None
    active_ms: int | None
    elapsed_ms: int | None
    standing: str
    media_missing: bool
    initial_media_missing: bool | None
    translated: str
    signals: dict[str, int] | None
    excluded: object


@dataclass(frozen=True)
class _Others:
    """What an annotator is compared with: the lengths of the items and everybody's answers.

    `given` counts the answers in the analysis, by item: r1, r2, ties. `same_browser` counts
    the others in an annotator's browser.
    """

    words: Mapping[int, int]
    given: Mapping[int, tuple[int, ...]]
    measures_signs: bool
    same_browser: Mapping[int, int]


def quality_of(
    study: Study,
    people: Collection[int] | None = None,
    among: QuerySet[Annotation] | None = None,
) -> dict[int, Quality]:
    """The quality figures of all annotators with answers, or of `people`, by the annotator's id.

    Answers of annotators who withdrew are ignored, and with `among` all but these. Five queries;
    memory grows with `people`, so a large study can be processed in parts.
    """
    people_shown = Annotator.objects.filter(study=study)
    if people is not None:
        people_shown = people_shown.filter(pk__in=people)
    others = _others(study, people_shown)
    rows = (
        (Annotation.objects if among is None else among)
        .filter(assignment__annotator__in=people_shown)
        .exclude(standing=Annotation.Standing.WITHDRAWN)
        .order_by("assignment__annotator", "assignment__position")
        .values_list(
            "assignment__annotator",
            "assignment__item",
            "assignment__item__split",
            "assignment__item__check_answer",
            "assignment__shown_first",
            "choice",
            "certainty",
            "active_ms",
            "elapsed_ms",
            "standing",
            "media_missing",
            "assignment__initial_answer__media_missing",
            "translated",
            "signals",
            "assignment__annotator__excluded_at",
        )
    )
    by_person = groupby(
        (_AnswerRow(*row) for row in rows.iterator()), key=lambda row: row.annotator
    )
    return {annotator: _quality(list(own), others) for annotator, own in by_person}


def _others(study: Study, annotators: QuerySet[Annotator]) -> _Others:
    """Everybody's answers to the items of these annotators."""
    items = Assignment.objects.filter(annotator__in=annotators).order_by().values("item")
    counted = (
        Annotation.objects.filter(
            assignment__annotator__study=study,
            assignment__annotator__excluded_at=None,
            assignment__item__split=Item.Split.MAIN,
            standing__in=_STANDING,
            assignment__item__in=items,
        )
        .values_list("assignment__item")
        .annotate(**{f"n_{choice}": Count("pk", filter=Q(choice=choice)) for choice in _CHOICES})
        .order_by()
    )
    # Not with an iterator: for its cursor, PostgreSQL optimises for the first rows and scans all
    # items of the study to find those of a page.
    choices_of = {item: tuple(counts) for item, *counts in counted}
    shared = AnnotatorEvent.objects.filter(
        annotator__in=annotators, event=AnnotatorEvent.SAME_BROWSER
    )
    same_browser = Counter(shared.order_by().values_list("annotator", flat=True))
    words = _words(study, items)
    return _Others(words, choices_of, study.measures_signs, same_browser)


def _words(study: Study, items: QuerySet[Assignment, Any]) -> dict[int, int]:
    """The number of words in an item's question, context and responses.

    The profile does not count: an annotator may have just read it for another item.
    """
    rows = (
        Item.objects.filter(study=study, pk__in=items)
        .order_by()
        .values_list("pk", "question", "context", KT("r1__text"), KT("r2__text"))
    )
    words = {
        pk: sum(len(str(text or "").split()) for text in texts) for pk, *texts in rows.iterator()
    }
    if study.shows_whole_sets:
        sets = Item.objects.filter(study=study, pk__in=items).exclude(option_set={})
        for pk, others in sets.values_list("pk", "option_set__others").iterator():
            words[pk] += sum(len(response["text"].split()) for response in others)
    return words


def _agreement(rows: Sequence[_AnswerRow], others: _Others) -> RaterAgreement:
    """The agreement of an annotator's answers with those in the analysis."""
    own = [
        ComparedAnswer(
            row.annotator, row.item, row.choice, row.standing in _STANDING and not row.excluded
        )
        for row in rows
    ]
    nobody = (0,) * len(_CHOICES)
    others_choices = {
        row.item: dict(zip(_CHOICES, others.given.get(row.item, nobody), strict=True))
        for row in rows
    }
    return agreement(own, others_choices)


def _quality(rows: Sequence[_AnswerRow], others: _Others) -> Quality:
    main = [row for row in rows if row.split == Item.Split.MAIN]
    checks = [row for row in rows if row.split == Item.Split.ATTENTION_CHECK]
    sides = [row.choice == row.shown_first for row in main if row.shown_first and _is_side(row)]
    certainties = [row.certainty for row in main if row.certainty is not None]
    compared = _agreement(main, others)
    timed = [row for row in main if row.elapsed_ms and row.standing in _ANSWERED_HERE]
    both = [row for row in timed if row.active_ms is not None]
    figures = Quality(
        answers=len(main),
        words_per_minute=_pace(main, others.words),
        spread_of_times=stdev(log(_longest(row)) for row in timed) if len(timed) > 1 else None,
        hidden=_share(_was_hidden(row) for row in both),
        without_active_time=_share(row.active_ms is None for row in timed),
        median_active_seconds=_median_seconds([row.active_ms for row in main]),
        median_elapsed_seconds=_median_seconds([row.elapsed_ms for row in main]),
        share_a=sum(sides) / len(sides) if sides else None,
        sd_certainty=stdev(certainties) if len(certainties) > 1 else None,
        checks_seen=len(checks),
        checks_failed=sum(row.choice != row.right for row in checks),
        media_missing=sum(row.media_missing or bool(row.initial_media_missing) for row in main),
        translated=sum(row.translated != Translated.NOTHING for row in main),
        same_browser=others.same_browser.get(rows[0].annotator, 0),
        agreement=compared.share,
        compared=compared.compared,
    )
    flags = [
        *_time_flags(figures, len(timed), len(both)),
        *_flags(figures, sides, certainties, compared),
    ]
    signs = _signs(main, checks, others, flags)
    if signs and (points := points_of(signs)) >= FLAGGED:
        flags.append(Flag("machine", points, FLAGGED))
    flags.sort(key=lambda flag: list(RULES).index(flag.rule))
    return replace(figures, signs=signs, flags=tuple(flags))


def _signs(
    main: Sequence[_AnswerRow],
    checks: Sequence[_AnswerRow],
    others: _Others,
    flags: Iterable[Flag],
) -> tuple[MachineSign, ...] | None:
    """Signs of a program in answers given here; None if nothing was measured."""
    here = [row for row in main if row.standing in _ANSWERED_HERE]
    was_measured = any(row.signals for row in (*here, *checks))
    if not here or not (others.measures_signs or was_measured):
        return None
    answers = [
        SignedAnswer(
            others.words.get(row.item, 0),
            _longest(row),
            row.certainty,
            row.signals,
            has_script=row.active_ms is not None,
            translated=row.translated != Translated.NOTHING,
        )
        for row in here
    ]
    signs = signs_of(
        answers,
        rules={flag.rule for flag in flags},
        checks=[row.signals for row in checks],
    )
    return tuple(signs)


def _time_flags(figures: Quality, timed: int, both: int) -> Iterable[Flag]:
    """Flags of the two clocks; `timed` answers have the server's time, `both` both times."""
    pace = figures.words_per_minute
    if figures.answers >= FEWEST and pace is not None and pace > FASTEST_WORDS_PER_MINUTE:
        yield Flag("speed", pace, FASTEST_WORDS_PER_MINUTE)
    spread = figures.spread_of_times
    if timed >= FEWEST and spread is not None and spread < least_spread(timed):
        yield Flag("even_times", spread, least_spread(timed))
    if both >= FEWEST and figures.hidden is not None and figures.hidden >= MOST_ANSWERS:
        yield Flag("page_hidden", figures.hidden, MOST_ANSWERS)
    missing = figures.without_active_time
    if timed >= FEWEST and missing is not None and missing >= MOST_ANSWERS:
        yield Flag("no_active_time", missing, MOST_ANSWERS)


def least_spread(answers: int) -> float:
    """A spread of the logarithms of this many times that few annotators stay below.

    One in 1,000 of those with a true spread of `LEAST_SPREAD_OF_TIMES`, by the chi-squared
    distribution in the Wilson-Hilferty approximation, and fewer of all others.
    """
    ninth = 2 / (9 * (answers - 1))
    root = max(0.0, 1 - ninth + NormalDist().inv_cdf(IMPROBABLE) * sqrt(ninth))
    return LEAST_SPREAD_OF_TIMES * root**1.5


def _flags(
    figures: Quality,
    sides: Sequence[bool],
    certainties: Sequence[int],
    agreement: RaterAgreement,
) -> Iterable[Flag]:
    if len(sides) >= FEWEST and figures.share_a is not None:
        rarer = min(sum(sides), len(sides) - sum(sides))
        if 2 * at_most(rarer, len(sides), 0.5) < IMPROBABLE:
            yield Flag("one_sided", figures.share_a, IMPROBABLE)
    spread = figures.sd_certainty
    if len(certainties) >= FEWEST and spread is not None and spread < SMALLEST_SPREAD:
        if Counter(certainties).most_common(1)[0][1] >= SAME_CERTAINTY * len(certainties):
            yield Flag("flat_certainty", spread, SMALLEST_SPREAD)
    if figures.checks_failed:
        yield Flag("failed_checks", figures.checks_failed, 1)
    if figures.media_missing:
        yield Flag("media_missing", figures.media_missing, 1)
    if figures.translated:
        yield Flag("translated", figures.translated, 1)
    if figures.same_browser:
        yield Flag("same_browser", figures.same_browser, 1)
    against, expected = agreement.share_against, agreement.expected_against
    if figures.answers >= FEWEST and against is not None and expected is not None:
        if agreement.probability < IMPROBABLE:
            yield Flag("disagreement", against, expected)


def _is_side(row: _AnswerRow) -> bool:
    return row.choice != "tie"


def _pace(rows: Sequence[_AnswerRow], words: Mapping[int, int]) -> float | None:
    """The median of words read per minute, by the slower of the two clocks for each answer.

    The server's clock restarts at a reload, and the browser's stops while the page is hidden, so
    the annotator had the longer of the two times.
    """
    paces = [
        words[row.item] * 60_000 / longest
        for row in rows
        if row.item in words and (longest := _longest(row)) > 0
    ]
    return median(paces) if paces else None


def _longest(row: _AnswerRow) -> int:
    return max(row.active_ms or 0, row.elapsed_ms or 0)


def _was_hidden(row: _AnswerRow) -> bool:
    """Whether the page was hidden for a while, by the difference of the two clocks."""
    active, elapsed = row.active_ms or 0, row.elapsed_ms or 0
    return active < QUIET_SECONDS * 1000 and elapsed - active >= HIDDEN_SECONDS * 1000


def _share(values: Iterable[bool]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def _median_seconds(milliseconds: Iterable[int | None]) -> float | None:
    known = [value / 1000 for value in milliseconds if value is not None]
    return median(known) if known else None
