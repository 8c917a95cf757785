"""Whether a judge could take a person's place.

The right label is unknown. Items, personas and questions lean to labels; people differ in how
sharply they see this, in preferred labels and in the number of answers. The judge shares part of
the people's signal and is worse than they are.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from analysis.stats import (
    Sharing,
    Votes,
    alt_test,
    pooled_replacement_tests,
)
from analysis.stats.core.results import FloatArray, IntArray
from benchmarks.simulations.answers import unequal_seats
from benchmarks.simulations.promises import Counts, MethodCheck, covers, errs

SD_ITEM, SD_SKILL, SHARPER = 1.0, 1.0, 2.0
DRAWN = 400_000


@dataclass(frozen=True)
class PlantedLabels:
    """A design without right answers.

    Attributes
    ----------
    k : int
        Answers per item.
    load : float
        The chance to get a seat falls with a person's rank to this power; 0 for equal loads.
    personas, questions : int
        Every pair of persona and question is an item; 0 draws them at random from 60 each.
    sd : float
        Standard deviation of the leanings of personas and questions.
    side : float
        Standard deviation of people's leanings, whatever the item.
    lean : float
        How much everybody leans to the first label.
    loss : float
        How much less than a person the judge agrees with people, on the scale where it is worse.
    common : float
        Correlation of the signals of people and judge. With 0 the judge always follows its own
        signal, and `loss` is not used.
    """

    k: int = 2
    n_items: int = 300
    n_people: int = 30
    load: float = 0.5
    personas: int = 20
    questions: int = 15
    sd: float = 0.8
    side: float = 0.5
    labels: int = 2
    lean: float = 0.0
    loss: float = 0.1
    common: float = 0.5


@dataclass(frozen=True)
class LabellingTruth:
    """How often the judge follows its signal instead of chance, and its loss on each scale."""

    follows: float
    raw: float
    balanced: float


@dataclass(frozen=True, eq=False)
class Labelled:
    """Studies with the same seats: `counts` (studies, items, labels) and `judge`."""

    sharing: Sharing
    counts: IntArray
    judge: IntArray


@cache
def labelling_truth(design: PlantedLabels) -> LabellingTruth:
    """The judge with a loss of exactly `design.loss`, from many items with two new people each."""
    rng = np.random.default_rng(0)
    sd = float(np.sqrt(SD_ITEM**2 + 2 * design.sd**2))
    shape = (DRAWN, design.labels)
    theirs, own = (rng.normal(0, sd, shape) for _ in range(2))
    one, other = (_chances(design, theirs, *_people(design, rng, DRAWN)) for _ in range(2))
    judge = _of_judge(design, theirs, own)
    mean = (one + other).mean(axis=0) / 2
    alike, same = (one * other).mean(axis=0), (judge * (one + other)).mean(axis=0) / 2
    blind = mean / design.labels
    losses = []
    for weight in (np.ones(design.labels), 1 / mean / design.labels):
        # Linear in how often the judge follows: the loss is `at_zero - gains * follows`.
        at_zero, gains = float(weight @ (alike - blind)), float(weight @ (same - blind))
        losses.append((at_zero, gains))
    follows = 1.0
    if design.common:
        follows = max((at_zero - design.loss) / gains for at_zero, gains in losses)
    raw, balanced = (at_zero - gains * follows for at_zero, gains in losses)
    return LabellingTruth(follows, raw, balanced)


def labelled(design: PlantedLabels, count: int, rng: np.random.Generator) -> Labelled:
    """`count` studies with the same seats, personas and questions."""
    n, labels = design.n_items, design.labels
    seats = unequal_seats(rng, n, design.n_people, load=design.load)[:, : design.k]
    order = rng.permutation(n)
    persona, question = rng.integers(0, 60, (2, n))
    if design.personas:
        persona, question = order % design.personas, order // design.personas % design.questions
    item = np.repeat(np.arange(n), design.k)
    votes = Votes.from_long(item, seats.ravel(), item * 0)
    sharing = Sharing.of_items(n, {"persona": persona, "question": question}, votes)

    def leaning() -> FloatArray:
        found = rng.normal(0, SD_ITEM, (count, n, labels))
        for codes in (persona, question):
            found += rng.normal(0, design.sd, (count, codes.max() + 1, labels))[:, codes]
        return found

    theirs, own = leaning(), leaning()
    skill, side = _people(design, rng, (count, design.n_people))
    # Shape (studies, items, k, labels).
    chances = _chances(design, theirs[:, :, None], skill[:, seats], side[:, seats])
    answers = _drawn(rng, chances)
    judge = _drawn(rng, _of_judge(design, theirs, own))
    follows = rng.random(judge.shape) < labelling_truth(design).follows
    judge = np.where(follows, judge, rng.integers(0, labels, judge.shape))
    counts = (answers[..., None] == np.arange(labels)).sum(axis=2)
    return Labelled(sharing, counts, judge)


def _people(
    design: PlantedLabels, rng: np.random.Generator, shape: int | tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """How sharply people see an item's leaning, and their preferred labels."""
    size = (shape,) if isinstance(shape, int) else shape
    skill = np.exp(rng.normal(0, SD_SKILL, (*size, 1)))
    return skill, rng.normal(0, design.side, (*size, design.labels))


def _chances(
    design: PlantedLabels, theirs: FloatArray, skill: FloatArray, side: FloatArray
) -> FloatArray:
    return _softmax(skill * theirs + side + _lean(design))


def _of_judge(design: PlantedLabels, theirs: FloatArray, own: FloatArray) -> FloatArray:
    mixed = design.common * theirs + np.sqrt(1 - design.common**2) * own
    return _softmax(SHARPER * (mixed + _lean(design)))


def _lean(design: PlantedLabels) -> FloatArray:
    return np.where(np.arange(design.labels) == 0, design.lean, 0.0)


def _softmax(logits: FloatArray) -> FloatArray:
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def _drawn(rng: np.random.Generator, chances: FloatArray) -> IntArray:
    """One label per row of chances."""
    place = rng.random((*chances.shape[:-1], 1))
    return np.asarray((chances.cumsum(axis=-1)[..., :-1] < place).sum(axis=-1), dtype=np.int64)


RIGHT, EPSILON = 0.8, 0.1
# The majority of three others is right with this probability, so that the average advantage of a
# person who is right with p over a model with q is (p − q)(2 M − 1).
_MAJORITY = 3 * RIGHT**2 - 2 * RIGHT**3
MODEL = RIGHT - EPSILON / (2 * _MAJORITY - 1)


def four_people(rng: np.random.Generator, counts: Counts) -> None:
    """People are better than the model by exactly the advantage granted for its price."""
    people = (rng.random((200, 4)) > RIGHT).astype(int)
    model = (rng.random(200) > MODEL).astype(int)
    votes = Votes.from_matrix(people)
    found = alt_test(votes, model, epsilon=EPSILON)
    counts.happened("any person is found replaceable", bool(found.omega))
    counts.happened("the test is passed", found.passed)


BATCH = 50


def in_place_of_a_person(
    rng: np.random.Generator, counts: Counts, *, design: PlantedLabels
) -> None:
    """Count the first screen's claims if the right labels are unknown."""
    truth, batch = labelling_truth(design), labelled(design, BATCH, rng)
    for found in pooled_replacement_tests(
        batch.counts, batch.judge, batch.sharing, epsilon=design.loss
    ):
        raw, balanced = found.raw.advantage.interval, found.balanced.advantage.interval
        counts.covered("agreement lost", raw, truth.raw)
        counts.covered("balanced agreement lost", balanced, truth.balanced)
        counts.happened("the judge could replace a person", found.replaceable)
        lows = [ends.low for ends in (raw, balanced) if ends]
        counts.happened("the judge could not replace a person", max(lows, default=0) > design.loss)
        counts.happened("the judge beats its own labels in random order", (found.gain_low or 0) > 0)


LABELLINGS = {
    "two answers an item": PlantedLabels(),
    "three answers an item": PlantedLabels(k=3, n_people=40, load=0.7, personas=0),
    "five answers an item": PlantedLabels(k=5, n_people=40, load=0.3),
    "three labels": PlantedLabels(k=3, labels=3, n_people=40),
    "five labels": PlantedLabels(k=3, labels=5, n_people=40),
    "900 items": PlantedLabels(n_items=900, n_people=90, personas=60, load=0.7),
    "a rare label": PlantedLabels(n_items=900, n_people=90, personas=60, lean=2.5),
    "twelve people": PlantedLabels(k=3, n_items=600, n_people=12, load=0.0, side=0.25, personas=0),
    "twelve people, personas and questions": PlantedLabels(k=3, n_people=12, load=0.0),
    "32 people who count as 13": PlantedLabels(
        k=3, n_items=600, n_people=32, load=1.0, side=0.7, personas=0
    ),
    "20 people, five answers an item": PlantedLabels(
        k=5, n_items=600, n_people=20, load=0.0, side=0.25, personas=0
    ),
    "24 people who count as 14": PlantedLabels(k=3, n_people=24, load=0.8),
    "24 people, a rare label": PlantedLabels(k=3, n_items=900, n_people=24, lean=1.5),
    "twelve people, three labels": PlantedLabels(
        k=3, labels=3, n_items=600, n_people=12, load=0.0, personas=0
    ),
    "a judge that follows something else": PlantedLabels(common=0.0),
}
_AT_EPSILON = {
    "the judge could replace a person": errs(0.05, most=0.06),
    "the judge could not replace a person": errs(0.05, most=0.06),
    "agreement lost": covers(),
    "balanced agreement lost": covers(),
}
_UNRELATED = {
    "the judge beats its own labels in random order": errs(0.05, most=0.06),
    "agreement lost": covers(),
    "balanced agreement lost": covers(),
}


def _described(design: PlantedLabels) -> str:
    crossed = (
        f"{design.personas} personas × {design.questions} questions"
        if design.personas
        else "60 personas and 60 questions at random"
    )
    judge = (
        f"the judge agrees with people {100 * design.loss:g} points less than a person does, on "
        "the scale where it is worse"
        if design.common
        else "the judge’s signal is unrelated to people’s"
    )
    load = "unequally" if design.load else "equally often"
    rare = ", most answers have the first label" if design.lean else ""
    return (
        f"{design.n_items} items, {design.k} answers each, {design.n_people} people who differ in "
        f"skill and preferred label and answer {load}; {design.labels} labels{rare}; {crossed}; "
        f"{judge}."
    )


CHECKS = (
    MethodCheck(
        "a model that is too weak by exactly the advantage granted",
        "200 items, four people right with .8; the model is weaker by the advantage of epsilon = "
        ".1.",
        four_people,
        {
            "any person is found replaceable": errs(0.05, most=0.06),
            "the test is passed": errs(0.05, most=0.06),
        },
        quick=300,
        full=5000,
    ),
    *(
        MethodCheck(
            name,
            _described(design),
            partial(in_place_of_a_person, design=design),
            _UNRELATED if design.common == 0 else _AT_EPSILON,
            quick=100,
            full=2000,
            batch=BATCH,
        )
        for name, design in LABELLINGS.items()
    ),
)
