"""How carefully people worked: figures and advisory flags. A flag decides nothing.

Every flag names its rule, the value and the threshold. Disagreement and wrong guesses are no
offence: what leads to an exclusion is for a person to say, with a reason.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import comb
from statistics import median, stdev
from typing import NamedTuple

from annotation.models import Annotation
from studies.models import Item, Study

# Faster than anybody reads who means to understand: skimming ends at about this pace.
FASTEST_WORDS_PER_MINUTE = 700
# So improbable must a pattern be in a careful person's answers; with 100 people and two such
# rules one false flag is expected in five studies.
IMPROBABLE = 0.001
SMALLEST_SPREAD = 3
# Fewer answers say nothing about a person.
FEWEST = 10

RULES = {
    "speed": "Faster than reading",
    "one_sided": "Mostly one side",
    "flat_certainty": "Always the same certainty",
    "failed_checks": "Failed attention checks",
    "disagreement": "Disagrees with the others",
}


@dataclass(frozen=True)
class Flag:
    """A rule that was crossed, the value that crossed it, and the threshold."""

    rule: str
    value: float
    threshold: float

    @property
    def label(self) -> str:
        return RULES[self.rule]

    def __str__(self) -> str:
        value, threshold = f"{self.value:.3g}", f"{self.threshold:.3g}"
        return {
            "speed": f"Read {self.value:.0f} words a minute; flagged above {self.threshold:.0f}.",
            "one_sided": f"Chose side A in {self.value:.0%} of the answers; so one-sided a pattern "
            f"has a probability below {self.threshold:g}.",
            "flat_certainty": f"The certainties spread by {value}; flagged below {threshold}.",
            "failed_checks": f"Failed {value} of the attention checks; flagged from {threshold}.",
            "disagreement": f"Agrees with the others in {self.value:.0%}; people in this study "
            f"agree in {self.threshold:.0%} on average.",
        }[self.rule]


@dataclass(frozen=True)
class Quality:
    """A person's figures. What cannot be computed from what there is, is None."""

    answers: int = 0
    words_per_minute: float | None = None
    median_active_seconds: float | None = None
    median_elapsed_seconds: float | None = None
    share_a: float | None = None
    sd_certainty: float | None = None
    checks_seen: int = 0
    checks_failed: int = 0
    agreement: float | None = None
    compared: int = 0
    flags: tuple[Flag, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(flag.rule for flag in self.flags)


NOTHING = Quality()


class _Row(NamedTuple):
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
    excluded: object


@dataclass
class _Agreement:
    same: int = 0
    compared: int = 0

    @property
    def share(self) -> float | None:
        return self.same / self.compared if self.compared else None


@dataclass
class _Study:
    """What people are held against: how long the items are, and what the others said."""

    words: dict[int, int] = field(default_factory=dict)
    agreement: dict[int, _Agreement] = field(default_factory=dict)
    mean_agreement: float | None = None


def quality_of(study: Study) -> dict[int, Quality]:
    """The quality figures of everybody with answers, by the annotator's id; two queries.

    Answers of people who withdrew are not looked at.
    """
    rows = [
        _Row(*row)
        for row in Annotation.objects.filter(assignment__annotator__study=study)
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
            "assignment__annotator__excluded_at",
        )
    ]
    main = [row for row in rows if row.split == Item.Split.MAIN]
    agreement = _agreement(main)
    whole = _Agreement(
        sum(a.same for a in agreement.values()), sum(a.compared for a in agreement.values())
    )
    around = _Study(_words(study) if main else {}, agreement, whole.share)
    by_person: defaultdict[int, list[_Row]] = defaultdict(list)
    for row in rows:
        by_person[row.annotator].append(row)
    return {annotator: _quality(own, around) for annotator, own in by_person.items()}


def _words(study: Study) -> dict[int, int]:
    """How many words stand in the question, the context and both responses of each item.

    The profile is left out: whoever has just read it for another item need not read it again.
    """
    rows = Item.objects.filter(study=study, assignments__isnull=False).values_list(
        "pk", "question", "context", "r1__text", "r2__text"
    )
    return {pk: sum(len(str(text or "").split()) for text in texts) for pk, *texts in rows}


def _agreement(rows: Iterable[_Row]) -> dict[int, _Agreement]:
    """Of all pairs with another person's answer to the same item, how many chose the same.

    The others are those whose answers stand in the analysis.
    """
    said: defaultdict[int, Counter[str]] = defaultdict(Counter)
    stands = {Annotation.Standing.COUNTED, Annotation.Standing.IMPORTED}
    rows = list(rows)
    for row in rows:
        if row.standing in stands and row.excluded is None:
            said[row.item][row.choice] += 1
    found: defaultdict[int, _Agreement] = defaultdict(_Agreement)
    for row in rows:
        others = said[row.item].copy()
        if row.standing in stands and row.excluded is None:
            others[row.choice] -= 1
        found[row.annotator].same += others[row.choice]
        found[row.annotator].compared += others.total()
    return found


def _quality(rows: Sequence[_Row], around: _Study) -> Quality:
    main = [row for row in rows if row.split == Item.Split.MAIN]
    checks = [row for row in rows if row.split == Item.Split.ATTENTION_CHECK]
    sides = [row.choice == row.shown_first for row in main if row.shown_first and _is_side(row)]
    certainties = [row.certainty for row in main if row.certainty is not None]
    agreement = around.agreement.get(rows[0].annotator, _Agreement())
    figures = Quality(
        answers=len(main),
        words_per_minute=_pace(main, around.words),
        median_active_seconds=_median_seconds([row.active_ms for row in main]),
        median_elapsed_seconds=_median_seconds([row.elapsed_ms for row in main]),
        share_a=sum(sides) / len(sides) if sides else None,
        sd_certainty=stdev(certainties) if len(certainties) > 1 else None,
        checks_seen=len(checks),
        checks_failed=sum(row.choice != row.right for row in checks),
        agreement=agreement.share,
        compared=agreement.compared,
    )
    flags = _flags(figures, sides, len(certainties), around.mean_agreement, agreement)
    return Quality(**{**figures.__dict__, "flags": tuple(flags)})


def _flags(
    figures: Quality,
    sides: Sequence[bool],
    certainties: int,
    mean_agreement: float | None,
    agreement: _Agreement,
) -> Iterable[Flag]:
    pace = figures.words_per_minute
    if figures.answers >= FEWEST and pace is not None and pace > FASTEST_WORDS_PER_MINUTE:
        yield Flag("speed", pace, FASTEST_WORDS_PER_MINUTE)
    if len(sides) >= FEWEST and figures.share_a is not None:
        rarer = min(sum(sides), len(sides) - sum(sides))
        if 2 * at_most(rarer, len(sides), 0.5) < IMPROBABLE:
            yield Flag("one_sided", figures.share_a, IMPROBABLE)
    spread = figures.sd_certainty
    if certainties >= FEWEST and spread is not None and spread < SMALLEST_SPREAD:
        yield Flag("flat_certainty", spread, SMALLEST_SPREAD)
    if figures.checks_failed:
        yield Flag("failed_checks", figures.checks_failed, 1)
    share = agreement.share
    if agreement.compared >= FEWEST and share is not None and mean_agreement is not None:
        if at_most(agreement.same, agreement.compared, mean_agreement) < IMPROBABLE:
            yield Flag("disagreement", share, mean_agreement)


def at_most(successes: int, trials: int, probability: float) -> float:
    """The binomial probability of so few successes or fewer.

    >>> at_most(0, 10, 0.5)
    0.0009765625
    """
    return sum(
        comb(trials, k) * probability**k * (1 - probability) ** (trials - k)
        for k in range(successes + 1)
    )


def _is_side(row: _Row) -> bool:
    return row.choice != "tie"


def _pace(rows: Sequence[_Row], words: dict[int, int]) -> float | None:
    """The median of the words read a minute, by the slower of the two clocks of each answer.

    The server's clock starts again at a reload, the browser's stops while the page is hidden:
    whichever is longer is the time the person had.
    """
    paces = [
        words[row.item] * 60_000 / longest
        for row in rows
        if row.item in words and (longest := max(row.active_ms or 0, row.elapsed_ms or 0)) > 0
    ]
    return median(paces) if paces else None


def _median_seconds(milliseconds: Iterable[int | None]) -> float | None:
    known = [value / 1000 for value in milliseconds if value is not None]
    return median(known) if known else None
