"""The model of the demo's known truth: preferences of personas, and answers of annotators.

Everybody guesses by the same stereotype. It is right about an item with probability r, and
annotators follow it with probability c on average; both depend on how much the profile says (the
stratum). Annotators vary around these averages in following it, in stated certainty, in preferred
side and in pace. Certainty is a rounded normal draw. Every draw is a hash of the seed and the names
of the drawn values, so an answer depends only on seed, annotator and item, never on the order of
answering.

Two modes: `random` draws independently; `exact` fixes every count of a stratum to the nearest
integer, so that the results are constants.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

from demo.text_bank import BANK, Person, Topic, fact

SEED = 20240701
MODES = ("random", "exact")
ANNOTATORS = 30
ANSWERS_PER_ITEM = 3
T = TypeVar("T")


@dataclass(frozen=True)
class Stratum:
    """How much a profile says about a topic, and the probabilities that follow from it."""

    name: str
    r: float  # P(the stereotype is right about an item)
    c: float  # P(an annotator follows it)
    certainty_mean: float
    certainty_sd: float

    @property
    def spread(self) -> float:
        """How far the most and the least able annotator are from `c`."""
        return min(SKILL, 1 - self.c)

    @property
    def own_sd(self) -> float:
        """The spread of one annotator's certainty; `certainty_sd` is that of all together."""
        between = sum(shift**2 for shift in CERTAINTY_SHIFTS) / len(CERTAINTY_SHIFTS)
        return math.sqrt(self.certainty_sd**2 - between)

    @property
    def accuracy(self) -> float:
        return self.r * self.c + (1 - self.r) * (1 - self.c)

    @property
    def agreement(self) -> float:
        """P(two annotators give the same answer)."""
        return self.c**2 + (1 - self.c) ** 2

    @property
    def majority(self) -> float:
        """Accuracy of the majority of three."""
        m = 3 * self.c**2 - 2 * self.c**3
        return self.r * m + (1 - self.r) * (1 - m)


STRATA = {
    stratum.name: stratum
    for stratum in (
        Stratum("direct", 0.92, 0.95, 88, 9),
        Stratum("strong", 0.80, 0.80, 70, 13),
        Stratum("weak", 0.70, 0.66, 52, 15),
        Stratum("none", 0.55, 0.52, 28, 14),
    )
}
# Differences between annotators, all symmetric, so that averages are unaffected.
SKILL = 0.08
CERTAINTY_SHIFTS = (-6, 0, 6)
SIDE = 0.05
TIE_RATE = 0.60  # P(an annotator sees a true tie as one); otherwise either reply, evenly


@dataclass(frozen=True)
class DemoItem:
    id: str
    person: Person
    topic: Topic
    stratum: str
    guess: str  # the reply suggested by the common stereotype; "" for a true tie
    label: str  # the persona's real preference: r1, r2 or tie


@dataclass(frozen=True)
class Answer:
    annotator: int
    item: str
    choice: str
    certainty: int | None


def uniform(*parts: object) -> float:
    """A number in [0, 1) that depends only on `parts`."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def other(side: str) -> str:
    return "r2" if side == "r1" else "r1"


class World:
    """All items of a seed with their labels, and everybody's answers."""

    def __init__(self, seed: int = SEED, mode: str = "random") -> None:
        if mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
        self.seed = seed
        self.mode = mode
        self.items = self._make_items()
        self.ties = [
            DemoItem(f"{person.id}-{key}", person, topic, "tie", "", "tie")
            for person in BANK.torn
            for key in person.strata
            for topic in BANK.topics
            if topic.key == key
        ]
        self.by_id = {item.id: item for item in [*self.items, *self.ties]}
        self._profiles: dict[str, list[dict[str, str]]] = {}
        self._exact = self._exact_answers() if mode == "exact" else {}

    def profile(self, person: Person) -> list[dict[str, str]]:
        """The persona features of `person`: demographics, then the facts the strata need."""
        if person.id not in self._profiles:
            self._profiles[person.id] = self._make_profile(person)
        return self._profiles[person.id]

    def answer(self, annotator: int, item_id: str, shown_first: str = "") -> Answer:
        """The answer of `annotator` to an item, whose reply `shown_first` stands on the left."""
        if self._exact:
            return self._exact[annotator, item_id]
        item = self.by_id[item_id]
        if item.stratum == "tie":
            u = uniform(self.seed, "tie", annotator, item_id)
            choice = "tie" if u < TIE_RATE else "r1" if u < (1 + TIE_RATE) / 2 else "r2"
            return Answer(annotator, item_id, choice, None)
        stratum = STRATA[item.stratum]
        chance = stratum.c + stratum.spread * (2 * uniform(self.seed, "skill", annotator) - 1)
        if shown_first:
            leans = SIDE * (2 * uniform(self.seed, "side", annotator) - 1)
            chance += leans if shown_first == item.guess else -leans
        follows = uniform(self.seed, "follow", annotator, item_id) < chance
        return Answer(
            annotator,
            item_id,
            item.guess if follows else other(item.guess),
            certainty_from(
                stratum.certainty_mean + self._certainty_shift(annotator),
                stratum.own_sd,
                uniform(self.seed, "certainty", annotator, item_id),
            ),
        )

    def _certainty_shift(self, annotator: int) -> int:
        place = uniform(self.seed, "certainty of", annotator) * len(CERTAINTY_SHIFTS)
        return CERTAINTY_SHIFTS[int(place)]

    def seating(self) -> list[tuple[int, str]]:
        """A balanced plan: 30 annotators (from 1) × 30 items, every item three times."""
        order = sorted(self.items, key=lambda item: uniform(self.seed, "seat", item.id))
        # The second and third annotator of an item are at growing distances from the first, 1..10
        # and 12..21, so that nobody meets an item twice and groups of three mix.
        return [
            ((place + shift * (place // ANNOTATORS + start)) % ANNOTATORS + 1, item.id)
            for place, item in enumerate(order)
            for shift, start in ((0, 0), (1, 1), (1, 12))
        ]

    def answers(self) -> list[Answer]:
        """All 900 answers of the plan."""
        return [self.answer(annotator, item_id) for annotator, item_id in self.seating()]

    def _make_profile(self, person: Person) -> list[dict[str, str]]:
        features = BANK.demographics(person)
        for topic in BANK.topics:
            stratum = person.strata.get(topic.key)
            if stratum == "tie":
                features.append(fact(topic, topic.hint[0]))
                features.append(fact(topic, topic.hint[1], key=f"{topic.key}_too"))
            elif stratum in ("direct", "strong"):
                words = topic.direct if stratum == "direct" else topic.hint
                guess = self.by_id[f"{person.id}-{topic.key}"].guess
                features.append(fact(topic, words[guess == "r2"]))
        return features

    def _make_items(self) -> list[DemoItem]:
        right = self._right()
        items = []
        for topic in BANK.topics:
            labels = {}
            free = []
            for person in BANK.people:
                if person.strata[topic.key] == "weak":
                    # A feature of the profile fixes the guess here, so the label follows.
                    lean = BANK.lean(person, topic) or ""
                    labels[person.id] = lean if right[person.id, topic.key] else other(lean)
                else:
                    free.append(person)
            # Elsewhere the label is free and determines the fact in the profile: each reply is
            # right for half of the personas.
            missing = len(BANK.people) // 2 - list(labels.values()).count("r1")
            free.sort(key=lambda person: uniform(self.seed, "label", topic.key, person.id))
            for place, person in enumerate(free):
                labels[person.id] = "r1" if place < missing else "r2"
            for person in BANK.people:
                label = labels[person.id]
                guess = label if right[person.id, topic.key] else other(label)
                items.append(
                    DemoItem(
                        f"{person.id}-{topic.key}",
                        person,
                        topic,
                        person.strata[topic.key],
                        guess,
                        label,
                    )
                )
        return items

    def _right(self) -> dict[tuple[str, str], bool]:
        """For every persona and topic, whether the stereotype is right."""
        right: dict[tuple[str, str], bool] = {}
        for name, stratum in STRATA.items():
            cells = [
                (person.id, key)
                for person in BANK.people
                for key, of_topic in person.strata.items()
                if of_topic == name
            ]
            draws = {cell: uniform(self.seed, "is right", *cell) for cell in cells}
            if self.mode == "random":
                right |= {cell: draw < stratum.r for cell, draw in draws.items()}
            else:
                ranked = sorted(cells, key=draws.__getitem__)
                count = round(stratum.r * len(cells))
                right |= {cell: rank < count for rank, cell in enumerate(ranked)}
        return right

    def _exact_answers(self) -> dict[tuple[int, str], Answer]:
        raters: dict[str, list[int]] = {}
        for annotator, item_id in self.seating():
            raters.setdefault(item_id, []).append(annotator)
        answers = {}
        for name, stratum in STRATA.items():
            items = [item for item in self.items if item.stratum == name]
            total = ANSWERS_PER_ITEM * len(items)
            quantiles = [certainty_at(stratum, (rank + 0.5) / total) for rank in range(total)]
            quantiles = self._shuffled(quantiles, "quantile", name)
            for is_right in (True, False):
                group = [item for item in items if (item.guess == item.label) == is_right]
                group = self._shuffled(group, "group", name, is_right)
                followers = [
                    k
                    for k, count in enumerate(apportion(binomial_three(stratum.c), len(group)))
                    for _ in range(count)
                ]
                for item, k in zip(group, followers, strict=True):
                    seats = self._shuffled(raters[item.id], "seats", item.id)
                    for place, annotator in enumerate(seats):
                        choice = item.guess if place < k else other(item.guess)
                        answers[annotator, item.id] = Answer(
                            annotator, item.id, choice, quantiles.pop()
                        )
        return answers

    def _shuffled(self, values: Sequence[T], *name: object) -> list[T]:
        ranks = sorted(range(len(values)), key=lambda i: uniform(self.seed, *name, i))
        return [values[i] for i in ranks]


def certainty_at(stratum: Stratum, u: float) -> int:
    """The certainty of an annotator at quantile `u`."""
    return certainty_from(stratum.certainty_mean, stratum.certainty_sd, u)


def certainty_from(mean: float, sd: float, u: float) -> int:
    """Quantile `u` (0 <= u < 1) of a rounded normal, clipped to 1-100."""
    return min(100, max(1, round(NormalDist(mean, sd).inv_cdf(max(u, 2**-64)))))


def binomial_three(p: float) -> list[float]:
    """P(0, 1, 2, 3 of three) with probability `p` each."""
    q = 1 - p
    return [q**3, 3 * p * q**2, 3 * p**2 * q, p**3]


def apportion(shares: Sequence[float], total: int) -> list[int]:
    """Whole numbers near `shares` × `total` that sum to `total` (largest remainders)."""
    exact = [share * total for share in shares]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: total - sum(counts)]:
        counts[i] += 1
    return counts
