"""Simulated studies of one design with a known truth, to count wrong statements of reports.

Items, people, personas and questions have effects on the logit scale; half of the difficulty of an
item, a persona or a question is the same for people and judges.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from analysis.stats import (
    Interval,
    Kind,
    PairedCounts,
    Sharing,
    Votes,
    adjusted_states,
    general_contrast,
    general_differences,
    general_proportion,
    general_proportions,
    holm,
    mcnemar,
    tango_interval,
    tango_statistic,
    wilson_proportion,
)

JUDGES, K, MARGIN = 3, 3, 0.1
LEVEL, Z_90 = 0.05, 1.6448536269514722
INSIDE = ("equivalent", "different_within_margin")
EASE, SD_ITEM, SD_PERSON, IN_COMMON = 0.5, 1.0, 0.6, 0.5
CERTAIN = 0.4
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class Design:
    """A study design: who answers what, and how much personas and questions matter.

    Attributes
    ----------
    people : str
        ``blocks`` of three who share 30 items, or ``seats`` that are filled at random.
    personas, questions : int
        Every item is one persona with one question; 0 draws them at random from 60 each.
    sd : float
        Standard deviation of personas and of questions on the logit scale.
    target : float
        True accuracy of every judge less that of the majority.
    """

    people: str = "blocks"
    personas: int = 20
    questions: int = 15
    sd: float = 0.0
    target: float = 0.0
    n_items: int = 300
    n_people: int = 30


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@dataclass(frozen=True)
class Truth:
    """Expected accuracies over all items, people, personas and questions."""

    single: float
    majority: float
    judge: float
    ease_of_judge: float


def truth_of(design: Design) -> Truth:
    """The truth of a design, by Gauss-Hermite quadrature."""
    sd = float(np.sqrt(SD_ITEM**2 + 2 * design.sd**2))
    one = (logistic(EASE + sd * NODES[:, None] + SD_PERSON * NODES) * WEIGHTS).sum(axis=1)
    majority = float(WEIGHTS @ (3 * one**2 - 2 * one**3))
    wanted = majority + design.target
    ease = optimize.brentq(lambda at: WEIGHTS @ logistic(at + sd * NODES) - wanted, -9, 9)
    return Truth(float(WEIGHTS @ one), majority, wanted, float(ease))


@dataclass(frozen=True, eq=False)
class Batch:
    """Studies that share who answered what and differ in all else: clusters, and who was right.

    Shapes: `alone` (studies, answers), `majority` (studies, items), `judges` and `certain`
    (studies, judges, items); `certain` is for the first judge and people.
    """

    items: Sharing
    answers: Sharing
    judged: Sharing
    alone: np.ndarray
    majority: np.ndarray
    judges: np.ndarray
    certain: np.ndarray


def batches(design: Design, n: int, rng: np.random.Generator, *, size: int = 50) -> Iterator[Batch]:
    """Yield `n` studies; seats, personas and questions are assigned again for every batch."""
    truth, n_items = truth_of(design), design.n_items
    for start in range(0, n, size):
        count = min(size, n - start)
        seats, persona, question = _layout(design, rng)
        item, person = np.repeat(np.arange(n_items), K), seats.ravel()
        clusters = {"persona": persona, "question": question}
        items = Sharing.of_items(n_items, clusters, Votes.from_long(item, person, item * 0))
        of_answers = {"item": item, "annotator": person} | {k: v[item] for k, v in clusters.items()}
        rows = np.arange(item.size)
        kinds = {name: Kind.of(rows, codes, rows.size) for name, codes in of_answers.items()}
        hard = _effects(design, count, persona, question, rng)
        skill = rng.normal(0, SD_PERSON, (count, design.n_people))
        chance = logistic(EASE + hard[:, item] + skill[:, person])
        alone = rng.random(chance.shape) < chance
        own = [_effects(design, count, persona, question, rng) for _ in range(JUDGES)]
        mixed = [IN_COMMON * hard + np.sqrt(1 - IN_COMMON**2) * effects for effects in own]
        chances = logistic(truth.ease_of_judge + np.stack(mixed, axis=1))
        yield Batch(
            items=items,
            answers=Sharing.of(rows.size, kinds),
            judged=items.without("annotator"),
            alone=alone.astype(float),
            majority=(alone.reshape(count, n_items, K).sum(axis=2) > K / 2).astype(float),
            judges=(rng.random(chances.shape) < chances).astype(float),
            certain=rng.random((count, 2, n_items)) < CERTAIN,
        )


def _effects(
    design: Design, count: int, persona: np.ndarray, question: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The easiness of each item compared with the average, shape (studies, items)."""
    found = rng.normal(0, SD_ITEM, (count, persona.size))
    for codes in (persona, question):
        found += rng.normal(0, design.sd, (count, codes.max() + 1))[:, codes]
    return found


def _layout(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = design.n_items
    if design.people == "blocks":
        blocks = design.n_people // K
        seats = (np.arange(n) * blocks // n)[:, None] * K + np.arange(K)
    else:
        seats = np.argsort(rng.random((n, design.n_people)), axis=1)[:, :K]
    if design.personas:
        order = rng.permutation(n)
        return seats, order % design.personas, order // design.personas % design.questions
    return seats, rng.integers(0, 60, n), rng.integers(0, 60, n)


@dataclass
class Tally:
    """The number of studies in which something was true, out of all studies."""

    hits: int = 0
    of: int = 0

    def add(self, hit: bool) -> None:
        self.hits, self.of = self.hits + bool(hit), self.of + 1

    @property
    def share(self) -> float:
        return self.hits / self.of

    @property
    def error(self) -> float:
        """Monte Carlo standard error, at least that of one hit."""
        p = min(max(self.share, 1 / self.of), 1 - 1 / self.of)
        return float(np.sqrt(p * (1 - p) / self.of))


def measure(
    design: Design, n: int, seed: int, *, every: int = 5, conditional: bool = True
) -> dict[str, Tally]:
    """Coverage of the intervals on the first screen, and how often its verdict is wrong.

    Cells of high certainty, whose items differ from study to study, are computed in one of
    `every` studies, and so are results for these annotators only.
    """
    truth, found = truth_of(design), Found()
    for batch in batches(design, n, np.random.default_rng(seed)):
        _verdicts(found, batch, truth, design)
        for name, right, sharing, expected in (
            ("majority", batch.majority, batch.items, truth.majority),
            ("single answers", batch.alone, batch.answers, truth.single),
            ("judge, one run", batch.judges[:, 0], batch.judged, truth.judge),
        ):
            for share in general_proportions(right, sharing):
                found.within(name, share.interval, expected)
        for index in range(0, len(batch.majority), every):
            _where_certain(found, batch, index, truth, design)
            if conditional:
                _conditional(found, batch, index, truth, design)
    return found.tallies


class Found:
    """Tallies by name."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}

    def add(self, name: str, hit: bool) -> None:
        self.tallies.setdefault(name, Tally()).add(hit)

    def within(self, name: str, interval: Interval | None, truth: float) -> None:
        if interval is not None:
            self.add(f"covers: {name}", interval.low <= truth <= interval.high)


def _verdicts(found: Found, batch: Batch, truth: Truth, design: Design) -> None:
    gaps = [
        general_differences(
            batch.judges[:, judge] - batch.majority, batch.items, margin=MARGIN, among=JUDGES
        )
        for judge in range(JUDGES)
    ]
    bests = batch.judges.sum(axis=2).argmax(axis=1)
    rows = np.arange(bests.size)
    shares = general_proportions(batch.judges[rows, bests], batch.judged, among=JUDGES)
    for index, best in enumerate(bests):
        family = [of_judge[index] for of_judge in gaps]
        found.within("difference, one run", family[0].interval, design.target)
        found.within("difference, best of three", family[best].as_best, design.target)
        found.within("judge, best of three", shares[index].interval, truth.judge)
        for name, chosen, among in (("one run", 0, family[:1]), ("best of three", best, family)):
            state = adjusted_states(among)[chosen].state or ""
            value = among[chosen].value or 0.0
            false = design.target == 0 or value * design.target < 0
            found.add(f"false better or worse: {name}", state.startswith("different") and false)
            found.add(f"equivalent: {name}", state in INSIDE)


def _where_certain(found: Found, batch: Batch, index: int, truth: Truth, design: Design) -> None:
    """Add results for a random certainty, for which the truth of a cell is that of all items."""
    judge, majority = batch.judges[index, 0], batch.majority[index]
    own, people = batch.certain[index]
    share = general_proportion(judge[own], batch.judged.take(own))
    found.within("judge where certain", share.interval, truth.judge)
    share = general_proportion(majority[people], batch.items.take(people))
    found.within("majority where certain", share.interval, truth.majority)
    contrast = general_contrast(judge, own, majority, people, batch.items)
    found.within("difference where certain", contrast.interval, design.target)


def _conditional(found: Found, batch: Batch, index: int, truth: Truth, design: Design) -> None:
    """Add results for these items and annotators only, as a comparison."""
    people, judges = batch.majority[index] == 1, batch.judges[index] == 1
    family = [
        PairedCounts(int((judge & ~people).sum()), int((~judge & people).sum()), people.size)
        for judge in judges
    ]
    best = int(judges.sum(axis=1).argmax())
    found.within("difference, Tango", tango_interval(family[0]), design.target)
    found.within("majority, Wilson", wilson_proportion(people).interval, truth.majority)
    found.within("judge, Wilson", wilson_proportion(judges[0]).interval, truth.judge)
    p_values = [mcnemar(pairs).p or 1.0 for pairs in family]
    adjusted = holm(p_values)[best] or 1.0
    for name, p, pairs in (
        ("one run", p_values[0], family[0]),
        ("best of three", adjusted, family[best]),
    ):
        found.add(f"McNemar rejects: {name}", p <= LEVEL)
        lower, upper = tango_statistic(pairs, -MARGIN), tango_statistic(pairs, MARGIN)
        found.add(f"equivalent by Tango: {name}", min(lower, -upper) > Z_90)
