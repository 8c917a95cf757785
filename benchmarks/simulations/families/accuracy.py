"""Shares of right answers: clustered designs, small bands, and shares near 0 or 1."""

from functools import cache, partial

import numpy as np

from analysis.stats import (
    Sharing,
    Votes,
    annotator_blocks,
    block_interval,
    compare_groups,
    errors_by_group,
    general_proportion,
    pigeonhole_bootstrap,
    shared_annotator_interval,
    two_way_proportion,
    wilson_interval,
    wilson_proportion,
)
from analysis.stats.core.results import FloatArray, IntArray
from benchmarks.simulations.answers import (
    answered,
    block_design,
    logistic,
    spread_design,
    true_accuracy,
)
from benchmarks.simulations.promises import Counts, MethodCheck, compared, covers, errs


def single_answers(rng: np.random.Generator, counts: Counts) -> None:
    design = block_design()
    truth, _ = true_accuracy(sd_item=1, sd_annotator=0.6)
    right, _ = answered(rng, design)
    counts.covered("two-way interval", two_way_proportion(right, *design).interval, truth)
    counts.covered("Wilson", wilson_proportion(right).interval, truth)


def small_band(rng: np.random.Generator, counts: Counts) -> None:
    item, annotator = block_design()
    band = rng.choice(900, 30, replace=False)
    right = rng.random(30) < 0.885
    found = two_way_proportion(right, item[band], annotator[band])
    counts.covered("two-way interval", found.interval, 0.885)


@cache
def _votes(spread: bool) -> tuple[Votes, IntArray]:
    design = spread_design() if spread else block_design()
    votes = Votes.from_long(*design, np.zeros(900, dtype=int))
    return votes, annotator_blocks(votes)


def majority_in_blocks(rng: np.random.Generator, counts: Counts) -> None:
    _, truth = true_accuracy(sd_item=1, sd_annotator=0.6)
    _, majority = answered(rng, block_design())
    _, blocks = _votes(False)
    counts.covered("interval over blocks", block_interval(majority, blocks), truth)
    counts.covered("Wilson", wilson_proportion(majority).interval, truth)


def majority_of_spread_people(rng: np.random.Generator, counts: Counts, *, sd: float) -> None:
    _, truth = true_accuracy(sd_item=1, sd_annotator=sd)
    _, majority = answered(rng, spread_design(), sd_annotator=sd)
    votes, _ = _votes(True)
    found = shared_annotator_interval(majority, votes, np.arange(300))
    counts.covered("interval by shared annotators", found, truth)
    counts.covered("Wilson", wilson_proportion(majority).interval, truth)


def pigeonhole(rng: np.random.Generator, counts: Counts) -> None:
    item, annotator = block_design()
    truth, _ = true_accuracy(sd_item=1, sd_annotator=0.6)
    right, _ = answered(rng, (item, annotator))

    def accuracy(weights: FloatArray) -> FloatArray:
        return np.asarray(weights @ right / weights.sum(axis=1), dtype=np.float64)

    found = pigeonhole_bootstrap(accuracy, item, annotator, n_draws=300, rng=rng)
    counts.covered("pigeonhole bootstrap", found.interval, truth)


def boundary(rng: np.random.Generator, counts: Counts, *, n: int, p: float) -> None:
    hits = int(rng.binomial(n, p))
    counts.covered("Wilson", wilson_interval(hits, n), p)


def near_one(rng: np.random.Generator, counts: Counts) -> None:
    """40 personas × 5 items; each persona has its own chance, .97 on average."""
    chance = np.repeat(rng.beta(19.4, 0.6, 40), 5)
    right = (rng.random(200) < chance).astype(float)
    sharing = Sharing.of_items(200, {"persona": np.arange(200) // 5})
    counts.covered("interval in general", general_proportion(right, sharing).interval, 0.97)
    counts.covered("Wilson", wilson_proportion(right == 1).interval, 0.97)


def groups_alike(rng: np.random.Generator, counts: Counts, *, of_group: int) -> None:
    """No group differs; 30 people answer 30 items each, and one person's answers correlate."""
    annotator, item = np.repeat(np.arange(30), 30), np.tile(np.arange(300), 3)
    group = (annotator >= of_group).astype(np.int64)
    logit = 0.4 + rng.normal(0, 0.8, 30)[annotator] + rng.normal(0, 1, 300)[item]
    right = (rng.random(900) < 1 / (1 + np.exp(-logit))).astype(int)
    for name, clusters in (
        ("clustered test rejects", {"item": item, "annotator": annotator}),
        ("test of independent answers rejects", None),
    ):
        found = compare_groups(right, group, clusters=clusters).differences
        counts.happened(name, found and found[0].p is not None and found[0].p < 0.05)


def errors_of_groups(rng: np.random.Generator, counts: Counts, *, of_group: int) -> None:
    """Errors that differ by persona and question, but not by the group of 30 personas."""
    persona, question = rng.permutation(300) % 30, rng.integers(0, 20, 300)
    effect = rng.normal(0, 0.7, 30)[persona] + rng.normal(0, 0.5, 20)[question]
    wrong = (rng.random(300) < logistic(effect - 0.8)).astype(float)
    group = (persona < of_group).astype(np.int64)
    found = errors_by_group(wrong, group, persona)[1]
    counts.happened("Welch test of personas rejects", found.p is not None and found.p < 0.05)
    counts.covered("difference", found.difference.interval, 0.0)
    clusters = {"persona": persona, "question": question}
    tested = compare_groups((wrong == 0).astype(int), group, clusters=clusters).differences
    p = tested[0].p if tested else None
    counts.happened("clustered test rejects", p is not None and p < 0.05)


CHECKS = (
    *(
        MethodCheck(
            f"errors on {of_group} of 30 personas that are like the others",
            "300 items; personas (SD .7) and questions (SD .5) differ, the group has no effect.",
            partial(errors_of_groups, of_group=of_group),
            {
                "Welch test of personas rejects": errs(0.05, most=0.07),
                "difference": covers(),
                "clustered test rejects": errs(),
            },
            quick=300,
            full=5000,
        )
        for of_group in (5, 8, 15)
    ),
    MethodCheck(
        "single answers",
        "300 items, three answers each, 30 people in blocks; SD 1 of items and .6 of people.",
        single_answers,
        {"two-way interval": covers(), "Wilson": compared()},
        quick=600,
        full=10000,
    ),
    MethodCheck(
        "30 answers, 88.5 % right",
        "30 of the 900 answers of such a study, as in a band of high certainty.",
        small_band,
        {"two-way interval": covers()},
        quick=600,
        full=10000,
    ),
    MethodCheck(
        "majorities in blocks",
        "The majority of three; groups of three people share 30 items.",
        majority_in_blocks,
        {"interval over blocks": covers(), "Wilson": compared()},
        quick=600,
        full=10000,
    ),
    *(
        MethodCheck(
            f"majorities without blocks, SD {sd:g} of people",
            "The majority of three; everybody shares items with many others.",
            partial(majority_of_spread_people, sd=sd),
            {"interval by shared annotators": covers(least=0.92), "Wilson": compared()},
            quick=150,
            full=2000,
        )
        for sd in (0.6, 1.2)
    ),
    MethodCheck(
        "resampled items and people",
        "The share of right answers, resampling 300 items and 30 people together.",
        pigeonhole,
        {"pigeonhole bootstrap": covers()},
        quick=50,
        full=1000,
    ),
    *(
        MethodCheck(
            f"{n} answers, {100 * p:g} % right",
            "Independent answers, nearly all of them right.",
            partial(boundary, n=n, p=p),
            {"Wilson": covers(least=0.92)},
            quick=2000,
            full=50000,
        )
        for n, p in ((30, 0.98), (100, 0.99), (300, 0.995))
    ),
    MethodCheck(
        "200 answers about 40 personas, 97 % right",
        "Chances of personas differ, beta-distributed with mean .97.",
        near_one,
        {"interval in general": covers(least=0.92), "Wilson": compared()},
        quick=300,
        full=5000,
    ),
    *(
        MethodCheck(
            f"a group of {of_group} of 30 people that does not differ",
            "30 people answer 30 items each; one person’s answers correlate.",
            partial(groups_alike, of_group=of_group),
            {
                "clustered test rejects": errs(),
                "test of independent answers rejects": compared("false claims", 0.05),
            },
            quick=300,
            full=5000,
        )
        for of_group in (5, 10, 15)
    ),
)
