"""Studies in which nobody knows the right label: people who differ, and a judge that loses to them.

Items, personas and questions lean to labels; people differ in how sharply they see it, in the label
that they prefer, and in how much they answer. Part of what leads people also leads the judge.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from analysis.stats import Sharing, Votes
from analysis.stats.core.results import FloatArray, IntArray
from extras.planted_truth.worlds.answers import unequal_seats

SD_ITEM, SD_SKILL, SHARPER = 1.0, 1.0, 2.0
DRAWN = 400_000


@dataclass(frozen=True)
class PlantedLabels:
    """A design without right answers.

    Attributes
    ----------
    k : int
        Answers of each item.
    load : float
        The chance to get a seat falls with a person's rank to this power; 0 for equal loads.
    personas, questions : int
        Every item is one persona with one question; 0 draws them at random from 60 each.
    sd : float
        Standard deviation of what personas, and questions, lean to.
    side : float
        Standard deviation of what people lean to, whatever the item.
    lean : float
        How much everybody leans to the first label.
    loss : float
        How much worse than a person the judge agrees with people, on the scale where it is worse.
    common : float
        Correlation of what leads people and what leads the judge. With 0 the judge always follows
        its own, and no loss is set.
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
    """How often the judge follows what leads it instead of a die, and its loss on each scale."""

    follows: float
    raw: float
    balanced: float


@dataclass(frozen=True, eq=False)
class Labelled:
    """Studies that share who answered what: `counts` (studies, items, labels), `judge`."""

    sharing: Sharing
    counts: IntArray
    judge: IntArray


@cache
def labelling_truth(design: PlantedLabels) -> LabellingTruth:
    """The judge that loses exactly `design.loss`, from many items with two new people each."""
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
    """How sharply people see what an item leans to, and the labels that they prefer."""
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
    """One label for each row of chances."""
    place = rng.random((*chances.shape[:-1], 1))
    return np.asarray((chances.cumsum(axis=-1)[..., :-1] < place).sum(axis=-1), dtype=np.int64)
