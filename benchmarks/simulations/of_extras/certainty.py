"""Promises of measures and kinds of certainty, and of panels at equal coverage."""

from functools import cache, partial

import numpy as np
from scipy import stats

from analysis.stats import Sharing, Votes
from analysis.stats.core.results import FloatArray, IntArray
from benchmarks.simulations.promises import (
    Counts,
    Family,
    MethodCheck,
    compared,
    covers,
    errs,
)
from extras.certainty.stats import (
    compare_certainty,
    general_quality,
    like_for_like,
    trusted_coverage,
)

PERSONAS, QUESTIONS = 30, 20
SD = 0.5  # of what personas, questions and people add, next to 1 of the item
ERRORS = (0.05, 0.1, 0.2)
WORLDS = ("calibrated", "overconfident", "useless")
RIGHT = 0.75  # share of right answers in every world


def block_design(n_items: int, n_annotators: int) -> tuple[IntArray, IntArray]:
    """Item and annotator of each answer: groups of three annotators share the same items."""
    item = np.repeat(np.arange(n_items), 3)
    return item, item // (3 * n_items // n_annotators) * 3 + np.tile(np.arange(3), n_items)


def shared_noise(rng: np.random.Generator, clusters: dict[str, IntArray], n: int) -> FloatArray:
    """Standard normal, and correlated where items share a persona or a question."""
    z = rng.normal(0, 1, n)
    for codes in clusters.values():
        z += rng.normal(0, SD, codes.max() + 1)[codes]
    return np.asarray(z / np.sqrt(1 + SD**2 * len(clusters)), dtype=np.float64)


def crossed(n: int) -> dict[str, IntArray]:
    place = np.arange(n)
    return {"persona": place % PERSONAS, "question": place // PERSONAS % QUESTIONS}


def probabilities(
    rng: np.random.Generator, world: str, clusters: dict[str, IntArray], n: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """What a native judge states, from 0 to 1, the chance that it is right, and whether it is."""
    chance = rng.uniform(0.5, 1, n)
    stated = chance
    if world == "overconfident":
        stated = 1 - (1 - chance) ** 2
    if world == "useless":
        stated, chance = chance, np.full(n, RIGHT)
    right = shared_noise(rng, clusters, n) < stats.norm.ppf(chance)
    return stated, chance, right.astype(np.int64)


@cache
def _true(world: str) -> tuple[float, float, float]:
    """Brier score, AUROC and AURC of a world, from sums over a fine grid of stated values."""
    chance = (np.arange(20_000) + 0.5) / 40_000 + 0.5
    stated = 1 - (1 - chance) ** 2 if world == "overconfident" else chance
    if world == "useless":
        chance = np.full(chance.size, RIGHT)
    brier = float(np.mean(chance * (1 - stated) ** 2 + (1 - chance) * stated**2))
    below = np.cumsum(1 - chance) - (1 - chance) / 2
    auroc = float(np.mean(chance * below) / chance.mean() / (1 - chance).sum())
    errors = np.cumsum((1 - chance)[::-1]) / np.arange(1, chance.size + 1)
    return brier, auroc, float(errors.mean())


def recovered(rng: np.random.Generator, counts: Counts, *, world: str) -> None:
    clusters = crossed(600)
    stated, _, right = probabilities(rng, world, clusters, 600)
    found = general_quality(100 * stated, right, Sharing.of_items(600, clusters))
    for name, truth in zip(("brier", "auroc", "aurc"), _true(world), strict=True):
        counts.covered(name, getattr(found, name).interval, truth)


def _useless(rng: np.random.Generator, kind: str, n: int) -> FloatArray:
    """Certainties that say nothing, with the values that a kind of certainty has."""
    values = {
        "sampled": lambda: 20 * rng.integers(3, 6, n),
        "stated": lambda: 5 * rng.integers(10, 21, n),
        "human": lambda: rng.integers(40, 101, (3, n)).mean(axis=0),
    }
    drawn = values[kind]() if kind in values else rng.uniform(50, 100, n)
    return np.asarray(drawn, dtype=np.float64)


KINDS = ("native", "log_probability", "sampled", "stated", "human")


def none_is_good(rng: np.random.Generator, counts: Counts, *, n: int) -> None:
    """The same share of errors at every certainty: whatever is trusted at that share is a fault."""
    share = float(rng.choice(ERRORS))
    clusters = crossed(n)
    item, annotator = block_design(n, n // 10)
    people = Votes.from_long(item, annotator, np.zeros(3 * n, dtype=np.int64))
    judged = Sharing.of_items(n, clusters)
    answered = Sharing.of_items(n, clusters, people)
    hard, is_wrong = shared_noise(rng, clusters, n), False
    for kind in KINDS:
        own = shared_noise(rng, clusters, n)
        if kind == "human":
            of_people = rng.normal(0, SD, annotator.max() + 1)[annotator].reshape(n, 3).sum(axis=1)
            own = (own + of_people) / np.sqrt(1 + 3 * SD**2)
        right = (hard + own) / np.sqrt(2) > stats.norm.ppf(share)
        certainty = _useless(rng, kind, n)
        sharing = answered if kind == "human" else judged
        for error in ERRORS:
            tests = len(KINDS) * len(ERRORS)
            found = trusted_coverage(certainty, right.astype(int), sharing, error, tests=tests)
            is_wrong |= error <= share and found.at(0.05) is not None
            if error == share and found.p is not None:
                alone = trusted_coverage(certainty, right.astype(int), sharing, error)
                counts.happened(f"alone, at 5 %: {kind}", alone.at(0.05) is not None)
    counts.happened("any certainty is trusted wrongly", is_wrong)


def some_is_good(rng: np.random.Generator, counts: Counts, *, n: int) -> None:
    clusters = crossed(n)
    stated, chance, right = probabilities(rng, "calibrated", clusters, n)
    sharing, is_wrong = Sharing.of_items(n, clusters), False
    for error in ERRORS:
        tests = len(KINDS) * len(ERRORS)
        passed = trusted_coverage(100 * stated, right, sharing, error, tests=tests).at(0.05)
        if passed is not None:
            accepted = 100 * stated >= passed.threshold
            is_wrong |= float((1 - chance)[accepted].mean()) > error
        counts.happened(f"something is trusted at {100 * error:g} %", passed is not None)
    counts.happened("more of the accepted are wrong than allowed", is_wrong)


KINDS_OF_CERTAINTY = Family(
    "kinds-of-certainty",
    (
        *(
            MethodCheck(
                f"a native judge, {world}",
                "600 items, 30 personas × 20 questions with SD .5; probabilities from .5 to 1.",
                partial(recovered, world=world),
                {name: covers() for name in ("brier", "auroc", "aurc")},
                quick=150,
                full=3000,
            )
            for world in WORLDS
        ),
        *(
            MethodCheck(
                f"five kinds that say nothing, {n} items",
                "5, 10 or 20 % errors at every certainty of four judges and a majority of three.",
                partial(none_is_good, n=n),
                {"any certainty is trusted wrongly": errs(0.05, most=0.06)}
                | {f"alone, at 5 %: {kind}": errs(0.05, most=0.07) for kind in KINDS},
                quick=100,
                full=full,
            )
            for n, full in ((300, 3000), (1000, 2000))
        ),
        *(
            MethodCheck(
                f"a native judge that is calibrated, {n} items",
                "30 personas × 20 questions with SD .5; five kinds and three shares are tested.",
                partial(some_is_good, n=n),
                {"more of the accepted are wrong than allowed": errs(0.05)}
                | {f"something is trusted at {100 * e:g} %": compared("mean", 1.0) for e in ERRORS},
                quick=100,
                full=1000,
            )
            for n in (300, 1000, 3000)
        ),
    ),
)


def judge_with_impressions(
    rng: np.random.Generator, truth: IntArray, k: int, skill: float = 0.9
) -> Votes:
    """k readings whose certainty grows with the strength of the item's impression."""
    signal = skill * np.where(truth == 0, 1, -1)[:, None]
    impression = signal + rng.normal(0, 1.4, (truth.size, k))
    certainty = np.clip(np.round(50 + 14 * np.abs(impression)), 1, 100)
    return Votes.from_matrix((impression < 0).astype(int), certainty)


def panel(rng: np.random.Generator, n: int) -> tuple[Votes, Votes, IntArray]:
    """People in blocks of three, three runs of a judge, and the truth of n items."""
    truth = rng.integers(0, 2, n)
    people = judge_with_impressions(rng, truth, 3)
    runs = judge_with_impressions(rng, truth, 3, skill=0.7)
    item, annotator = block_design(n, n // 10)
    return Votes.from_long(item, annotator, people.choice, people.certainty), runs, truth


SIDES = ("human_single", "model_single", "model_majority")


WORDS = {"human_single": "people", "model_single": "one run", "model_majority": "majority of runs"}


@cache
def _true_panel(side: str) -> float:
    rng = np.random.default_rng(0)
    found = getattr(like_for_like(*panel(rng, 60_000), rng=rng), side).matched.value
    return float(found)


def at_coverage(rng: np.random.Generator, counts: Counts) -> None:
    found = like_for_like(*panel(rng, 300), rng=rng)
    for side in SIDES:
        matched = getattr(found, side).matched
        counts.covered(WORDS[side], matched.interval, _true_panel(side))


def ranks(rng: np.random.Generator, counts: Counts, *, rho: float) -> None:
    """Certainties of two sides with correlation `rho` on independent items."""
    both = np.linalg.cholesky([[1.0, rho], [rho, 1.0]]) @ rng.normal(0, 1, (2, 300))
    found = compare_certainty(50 + both[0], 50 + both[1]).spearman_interval
    counts.covered("Bonett and Wright", found, 6 / np.pi * np.arcsin(rho / 2))


MEASURES = Family(
    "measures-of-certainty",
    (
        *(
            MethodCheck(
                f"rank correlation of certainties on independent items, {rho:g}",
                "300 items.",
                partial(ranks, rho=rho),
                {"Bonett and Wright": covers()},
                quick=150,
                full=3000,
            )
            for rho in (0.0, 0.6)
        ),
        MethodCheck(
            "accuracy at people’s coverage",
            "300 items, three people and three runs each, certainty follows the impression.",
            at_coverage,
            {WORDS[side]: covers(least=0.92) for side in SIDES},
            quick=40,
            full=1000,
        ),
    ),
)
