"""The first screen of a report: is a judge better, worse or equivalent, and how accurate?

Studies of one design, with people, their majority and three judges. Items, people, personas and
questions have effects on the logit scale; half of the difficulty of an item, a persona or a
question is the same for people and judges.
"""

from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from scipy import optimize, stats

from analysis.stats import (
    PairedCounts,
    SharedKind,
    Sharing,
    Votes,
    adjusted_states,
    block_difference,
    general_agreement,
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
from analysis.stats.core.results import BoolArray, FloatArray, IntArray
from benchmarks.simulations.answers import logistic, unequal_seats
from benchmarks.simulations.promises import Counts, MethodCheck, Promise, compared, covers, errs

JUDGES, K = 3, 3
EASE, SD_ITEM, SD_PERSON, IN_COMMON = 0.5, 1.0, 0.6, 0.5
CERTAIN = 0.4
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class Design:
    """A study design: who answers what, and the effects of personas and questions.

    Attributes
    ----------
    people : str
        ``blocks`` of three who share 30 items, or ``seats`` that are filled at random.
    personas, questions : int
        Every pair of persona and question is an item; 0 draws them at random from 60 each.
    sd : float
        Standard deviation of personas and of questions on the logit scale.
    target : float
        True accuracy of every judge minus that of the majority.
    load : float
        The chance to get a seat falls with a person's rank to this power; 0 for equal loads.
    """

    people: str = "blocks"
    personas: int = 20
    questions: int = 15
    sd: float = 0.0
    target: float = 0.0
    n_items: int = 300
    n_people: int = 30
    load: float = 0.0


@dataclass(frozen=True)
class Truth:
    """Expected accuracies and agreement over all items, people, personas and questions.

    `pairs` is how often two people agree, `with_majority` how often a judge agrees with three.
    """

    single: float
    majority: float
    judge: float
    ease_of_judge: float
    pairs: float
    with_majority: float


@cache
def truth_of(design: Design) -> Truth:
    """The truth of a design, by Gauss-Hermite quadrature."""
    sd = float(np.sqrt(SD_ITEM**2 + 2 * design.sd**2))
    one = (logistic(EASE + sd * NODES[:, None] + SD_PERSON * NODES) * WEIGHTS).sum(axis=1)
    of_three = 3 * one**2 - 2 * one**3
    majority = float(WEIGHTS @ of_three)
    wanted = majority + design.target
    ease = optimize.brentq(lambda at: WEIGHTS @ logistic(at + sd * NODES) - wanted, -9, 9)
    hard = sd * (IN_COMMON * NODES[:, None] + np.sqrt(1 - IN_COMMON**2) * NODES)
    judge = (logistic(ease + hard) * WEIGHTS).sum(axis=1)  # by difficulty for people
    return Truth(
        single=float(WEIGHTS @ one),
        majority=majority,
        judge=wanted,
        ease_of_judge=float(ease),
        pairs=float(WEIGHTS @ (one**2 + (1 - one) ** 2)),
        with_majority=float(WEIGHTS @ (judge * of_three + (1 - judge) * (1 - of_three))),
    )


@dataclass(frozen=True, eq=False)
class StudyBatch:
    """Studies with the same seats and everything else drawn again: clusters, and who was right.

    Shapes: `alone` (studies, answers), `majority` (studies, items), `judges` and `certain`
    (studies, judges, items); `certain` is for the first judge and people.
    """

    items: Sharing
    answers: Sharing
    judged: Sharing
    alone: FloatArray
    majority: FloatArray
    judges: FloatArray
    certain: BoolArray


def batch_of(design: Design, count: int, rng: np.random.Generator) -> StudyBatch:
    """`count` studies with the same seats, personas and questions."""
    truth, n_items = truth_of(design), design.n_items
    seats, persona, question = _layout(design, rng)
    item, person = np.repeat(np.arange(n_items), K), seats.ravel()
    clusters = {"persona": persona, "question": question}
    items = Sharing.of_items(n_items, clusters, Votes.from_long(item, person, item * 0))
    of_answers = {"item": item, "annotator": person} | {k: v[item] for k, v in clusters.items()}
    rows = np.arange(item.size)
    kinds = {name: SharedKind.of(rows, codes, rows.size) for name, codes in of_answers.items()}
    hard = _effects(design, count, persona, question, rng)
    skill = rng.normal(0, SD_PERSON, (count, design.n_people))
    chance = logistic(EASE + hard[:, item] + skill[:, person])
    alone = rng.random(chance.shape) < chance
    own = [_effects(design, count, persona, question, rng) for _ in range(JUDGES)]
    mixed = [IN_COMMON * hard + np.sqrt(1 - IN_COMMON**2) * effects for effects in own]
    chances = logistic(truth.ease_of_judge + np.stack(mixed, axis=1))
    return StudyBatch(
        items=items,
        answers=Sharing.of(rows.size, kinds),
        judged=items.without("annotator"),
        alone=alone.astype(float),
        majority=(alone.reshape(count, n_items, K).sum(axis=2) > K / 2).astype(float),
        judges=(rng.random(chances.shape) < chances).astype(float),
        certain=rng.random((count, 2, n_items)) < CERTAIN,
    )


def _effects(
    design: Design, count: int, persona: IntArray, question: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Ease of each item relative to the average, shape (studies, items)."""
    found = rng.normal(0, SD_ITEM, (count, persona.size))
    for codes in (persona, question):
        found += rng.normal(0, design.sd, (count, codes.max() + 1))[:, codes]
    return found


def _layout(design: Design, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    n = design.n_items
    if design.people == "blocks":
        blocks = design.n_people // K
        seats = (np.arange(n) * blocks // n)[:, None] * K + np.arange(K)
    else:
        seats = unequal_seats(rng, n, design.n_people, load=design.load)[:, :K]
    if design.personas:
        order = rng.permutation(n)
        return seats, order % design.personas, order // design.personas % design.questions
    return seats, rng.integers(0, 60, n), rng.integers(0, 60, n)


MARGIN, LEVEL, Z_90 = 0.1, 0.05, 1.6448536269514722
INSIDE = ("equivalent", "different_within_margin")
BATCH = 50
# Cells whose items vary between studies are computed in one of this many studies.
EVERY = 5


def studies(rng: np.random.Generator, counts: Counts, *, design: Design) -> None:
    """Count the first screen's claims about a batch of studies."""
    truth, batch = truth_of(design), batch_of(design, BATCH, rng)
    _verdicts(counts, batch, truth, design)
    for name, right, sharing, expected in (
        ("accuracy of the majority", batch.majority, batch.items, truth.majority),
        ("accuracy of single answers", batch.alone, batch.answers, truth.single),
        ("accuracy of a judge", batch.judges[:, 0], batch.judged, truth.judge),
    ):
        for share in general_proportions(right, sharing):
            counts.covered(name, share.interval, expected)
    _agreement(counts, batch, truth)
    for index in range(0, BATCH, EVERY):
        _where_certain(counts, batch, index, truth, design)
        _conditional(counts, batch, index, truth, design)


def _verdicts(counts: Counts, batch: StudyBatch, truth: Truth, design: Design) -> None:
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
        counts.covered("difference, one run", family[0].interval, design.target)
        counts.covered("difference, best of three", family[best].as_best, design.target)
        counts.covered("accuracy of the best of three", shares[index].interval, truth.judge)
        for name, chosen, among in (("one run", 0, family[:1]), ("best of three", best, family)):
            state = adjusted_states(among)[chosen].state or ""
            value = among[chosen].value or 0.0
            false = design.target == 0 or value * design.target < 0
            counts.happened(
                f"false “better” or “worse”, {name}", state.startswith("different") and false
            )
            counts.happened(f"“equivalent”, {name}", state in INSIDE)


def _agreement(counts: Counts, batch: StudyBatch, truth: Truth) -> None:
    """Add the intervals of agreement, which the first screen shows if the truth is unknown."""
    right = batch.alone.reshape(*batch.majority.shape, -1).sum(axis=2).astype(int)
    k = batch.alone.shape[1] // batch.majority.shape[1]
    for votes in right:
        found = general_agreement(np.column_stack([k - votes, votes]), batch.items)
        counts.covered("agreement of two people", found.interval, truth.pairs)
    same = (batch.judges[:, 0] == batch.majority).astype(float)
    for share in general_proportions(same, batch.items):
        counts.covered("agreement with the majority", share.interval, truth.with_majority)


def _where_certain(
    counts: Counts, batch: StudyBatch, index: int, truth: Truth, design: Design
) -> None:
    """Add results for a random certainty, where the truth of a cell is that of all items."""
    judge, majority = batch.judges[index, 0], batch.majority[index]
    own, people = batch.certain[index]
    share = general_proportion(judge[own], batch.judged.take(np.flatnonzero(own)))
    counts.covered("judge where certain", share.interval, truth.judge)
    share = general_proportion(majority[people], batch.items.take(np.flatnonzero(people)))
    counts.covered("majority where certain", share.interval, truth.majority)
    contrast = general_contrast(judge, own, majority, people, batch.items)
    counts.covered("difference where certain", contrast.interval, design.target)


def _conditional(
    counts: Counts, batch: StudyBatch, index: int, truth: Truth, design: Design
) -> None:
    """Add results for these items and annotators only, as a comparison."""
    people, judges = batch.majority[index] == 1, batch.judges[index] == 1
    family = [
        PairedCounts(int((judge & ~people).sum()), int((~judge & people).sum()), people.size)
        for judge in judges
    ]
    best = int(judges.sum(axis=1).argmax())
    counts.covered("Tango’s interval", tango_interval(family[0]), design.target)
    counts.covered("Wilson, majority", wilson_proportion(people).interval, truth.majority)
    counts.covered("Wilson, judge", wilson_proportion(judges[0]).interval, truth.judge)
    p_values = [mcnemar(pairs).p or 1.0 for pairs in family]
    adjusted = holm(p_values)[best] or 1.0
    for name, p, pairs in (
        ("one run", p_values[0], family[0]),
        ("best of three", adjusted, family[best]),
    ):
        counts.happened(f"McNemar rejects, {name}", p <= LEVEL)
        lower, upper = tango_statistic(pairs, -MARGIN), tango_statistic(pairs, MARGIN)
        counts.happened(f"“equivalent” by Tango, {name}", min(lower, -upper) > Z_90)


_EQUAL: dict[str, Promise] = {
    "false “better” or “worse”, one run": errs(0.05, most=0.06),
    "false “better” or “worse”, best of three": errs(0.05, most=0.06),
    "difference, one run": covers(),
    "difference, best of three": covers(),
    "accuracy of the majority": covers(),
    "accuracy of single answers": covers(),
    "accuracy of a judge": covers(),
    "accuracy of the best of three": covers(),
    "agreement of two people": covers(),
    "agreement with the majority": covers(),
    "judge where certain": covers(),
    "majority where certain": covers(),
    "difference where certain": covers(),
    "McNemar rejects, one run": compared("false claims", 0.05),
    "McNemar rejects, best of three": compared("false claims", 0.05),
    "Tango’s interval": compared(),
    "Wilson, majority": compared(),
    "Wilson, judge": compared(),
}
_AT_MARGIN: dict[str, Promise] = {
    "“equivalent”, one run": errs(0.05, most=0.06),
    "“equivalent”, best of three": errs(0.05, most=0.06),
    "difference, one run": covers(),
    "difference, best of three": covers(),
    "“equivalent” by Tango, one run": compared("false claims", 0.05),
    "“equivalent” by Tango, best of three": compared("false claims", 0.05),
}


DESIGNS = [
    Design(people=people, personas=personas, sd=sd)
    for people in ("blocks", "seats")
    for personas in (20, 0)
    for sd in (0.0, 0.5)
]
LARGE = Design(personas=60, n_items=900, n_people=90)
AT_MARGIN = [
    replace(design, target=target)
    for design in (DESIGNS[0], DESIGNS[-1], LARGE)
    for target in (-MARGIN, MARGIN)
]


# In the first design, the busiest person answers 63 % of items: too few people for a verdict.
BUSY = (
    Design("seats", n_people=24, load=1.0),
    Design("seats", 0, sd=0.5, n_people=40, load=0.7),
)
_NO_VERDICT = {name: promise for name, promise in _EQUAL.items() if name.startswith("false")}


def _named(design: Design) -> str:
    people = "people in blocks" if design.people == "blocks" else "seats at random"
    if design.load:
        people = f"{design.n_people} people with unequal loads"
    crossed = f"{design.personas} × {design.questions}" if design.personas else "random"
    end = f", {100 * design.target:+.0f} points" if design.target else ""
    size = f"{design.n_items} items, " if design.n_items != Design.n_items else ""
    return f"{size}{people}, {crossed}, SD {design.sd:g}{end}"


def _described(design: Design) -> str:
    people = "people in blocks of three" if design.people == "blocks" else "seats filled at random"
    if design.load:
        people = f"a person's share falls with the rank to the power of {design.load:g}"
    crossed = (
        f"{design.personas} personas × {design.questions} questions"
        if design.personas
        else "60 personas and 60 questions at random"
    )
    truth = (
        f"every judge is {100 * abs(design.target):.0f} points "
        f"{'better' if design.target > 0 else 'worse'} than the majority"
        if design.target
        else "every judge is as good as the majority"
    )
    return (
        f"{design.n_items} items, three answers each, {design.n_people} people, {people}; "
        f"{crossed} with SD {design.sd:g} on the logit scale; {truth}."
    )


_Z = np.linspace(-6, 6, 2001)
_DENSITY = stats.norm.pdf(_Z)
_OF_PERSON = float((_DENSITY / (1 + np.exp(-0.8 - 0.6 * _Z))).sum() / _DENSITY.sum())


def trios(rng: np.random.Generator, counts: Counts) -> None:
    """Trios share 30 items; the people of a trio are jointly better or worse than the model."""
    blocks, size = 10, 30
    shift = rng.normal(0, 0.6, (blocks, 1))
    person = rng.random((blocks, size)) < 1 / (1 + np.exp(-0.8 - shift))
    model = rng.random((blocks, size)) < 1 / (1 + np.exp(-0.8))
    diffs = model.astype(float) - person
    # Both are equally accurate except for the curvature of the logit, which is known.
    target = 1 / (1 + np.exp(-0.8)) - _OF_PERSON
    found = block_difference((diffs - target).ravel(), np.repeat(range(blocks), size))
    counts.happened("t test over blocks rejects", found.p is not None and found.p < 0.05)
    b, c = int((diffs == 1).sum()), int((diffs == -1).sum())
    p = mcnemar(PairedCounts(b=b, c=c, n=diffs.size)).p_mid
    counts.happened("McNemar rejects", p is not None and p < 0.05)


CHECKS = (
    *(
        MethodCheck(
            _named(design),
            _described(design),
            partial(studies, design=design),
            _AT_MARGIN if design.target else _NO_VERDICT if design is BUSY[0] else _EQUAL,
            quick=100,
            full=2000,
            batch=BATCH,
        )
        for design in (*DESIGNS, *AT_MARGIN, *BUSY)
    ),
    MethodCheck(
        "blocks of three",
        "Ten trios share 30 items each and are jointly better or worse than a model.",
        trios,
        {
            "t test over blocks rejects": errs(0.05, most=0.06),
            "McNemar rejects": compared("false claims", 0.05),
        },
        quick=1500,
        full=20000,
    ),
)
