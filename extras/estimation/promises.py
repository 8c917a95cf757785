"""What means over all judged items, win rates and strengths promise in simulated studies."""

from functools import cache, partial

import numpy as np

from analysis.promises import Counts, Family, MethodCheck, compared, covers, errs
from analysis.stats import Sharing, general_proportion
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.shared_variance import ANNOTATOR
from extras.estimation.judged_items import Judge, Judged, sampled, true_share
from extras.estimation.stats import (
    Contests,
    calibrated_mean,
    corrected_win_rates,
    powered_mean,
    rogan_gladen,
    system_strengths,
    win_rates,
)
from extras.estimation.stats.scores import width
from extras.estimation.stats.strengths import fit_strengths, results

DESIGNS = {
    "20 of 200 answered": Judged(200, 20, 100, 0, 0.5),
    "60 of 200 answered": Judged(200, 60, 100, 0, 0.5),
    "100 of 400 answered, clustered": Judged(400, 100, 40, 20, 0.5),
    "100 of 400 answered by 24 people": Judged(400, 100, 40, 20, 0.5, people=24),
}
STRATA = {"80 of 400 answered, drawn from two strata": Judged(400, 80, 40, 20, 0.3, n_strata=2)}
JUDGES: tuple[Judge, ...] = ("useless", "perfect", "biased")
# With fewer answered items the bootstrap of Rogan and Gladen covers less than it states.
FEWEST_RESAMPLED = 60
WIDER = 1.02  # times the width of the answers alone


def powered(rng: np.random.Generator, counts: Counts, *, design: Judged, judge: Judge) -> None:
    sample, truth = sampled(design, judge, rng), true_share(design)
    strata = sample.stratum if design.n_strata > 1 else None
    found = powered_mean(
        sample.target, sample.signal, sample.sharing, strata=strata, folds=sample.folds, rng=rng
    )
    counts.covered("prediction-powered interval", found.powered.interval, truth)
    widths = width(found.powered), width(found.alone)
    if widths[0] is not None and widths[1] is not None:
        counts.happened("is wider by more than 2 %", widths[0] > WIDER * widths[1])


def calibrated(rng: np.random.Generator, counts: Counts, *, design: Judged) -> None:
    sample, truth = sampled(design, "biased", rng), true_share(design)
    found = calibrated_mean(sample.target, sample.signal, sample.sharing, folds=sample.folds)
    counts.covered("calibrated interval", found.mean.interval, truth)
    counts.covered("interval of the residual", found.residual.interval, 0.0)


def corrected(rng: np.random.Generator, counts: Counts, *, design: Judged) -> None:
    sample, truth = sampled(design, "biased", rng), true_share(design)
    says = (sample.signal > 0.5).astype(float)
    found = rogan_gladen(
        sample.target, says, sample.sharing, clusters=sample.persona, n_draws=300, rng=rng
    )
    counts.covered("interval of the delta method", found.delta.interval, truth)
    counts.covered("interval of resampled personas", found.bootstrap.interval, truth)
    lucky = general_proportion(says, sample.sharing.without(ANNOTATOR))
    counts.covered("judge’s yes as it is", lucky.interval, truth)


_OF_MEANS = (
    *(
        MethodCheck(
            f"{judge} judge, {name}",
            f"A {judge} judge judged all items; 95 % intervals of what people say of all of them.",
            partial(powered, design=design, judge=judge),
            {
                "prediction-powered interval": covers(least=0.92),
                "is wider by more than 2 %": errs(0.0),
            },
            quick=100,
            full=2000,
        )
        for name, design in (DESIGNS | STRATA).items()
        for judge in JUDGES
    ),
    *(
        MethodCheck(
            f"calibrated judge, {name}",
            "A judge that is wrong on a quarter; its signal is corrected by people’s answers.",
            partial(calibrated, design=design),
            {
                "calibrated interval": covers(least=0.92),
                "interval of the residual": covers(least=0.92),
            },
            quick=100,
            full=2000,
        )
        for name, design in DESIGNS.items()
    ),
    *(
        MethodCheck(
            f"Rogan and Gladen, {name}",
            "A judge’s yes or no, wrong on a quarter, corrected by its errors on answered items.",
            partial(corrected, design=design),
            {
                "interval of the delta method": covers(least=0.92),
                "interval of resampled personas": (
                    covers(least=0.92)
                    if design.n_answered >= FEWEST_RESAMPLED and not design.people
                    else compared()
                ),
                "judge’s yes as it is": compared(),
            },
            quick=60,
            full=1000,
        )
        for name, design in DESIGNS.items()
    ),
)


# Systems

STRENGTHS = np.array([0.9, 0.3, -0.2, -1.0])


def planted(
    rng: np.random.Generator, *, accuracy: float, n_personas: int = 60, each: int = 6
) -> tuple[Contests, IntArray, IntArray, IntArray]:
    """Contests, people who share tastes within a persona, a judge who errs at random, personas."""
    n = n_personas * each
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    persona = np.arange(n) // each
    # A taste that flips the comparison: people of a persona prefer other systems.
    taste = rng.normal(0, 0.7, (n_personas, 4))
    own = STRENGTHS + taste[persona]
    rows = np.arange(n)
    p = 1 / (1 + np.exp(own[rows, second] - own[rows, first]))
    people = (rng.random(n) >= p).astype(int)
    judge = np.where(rng.random(n) < accuracy, people, 1 - people)
    return Contests.of(first, second), people, judge, persona


@cache
def true_rates(n: int = 200_000) -> tuple[FloatArray, FloatArray]:
    """Win rates and strengths over all personas, from one very large study."""
    contests, people, _, _ = planted(
        np.random.default_rng(99), accuracy=1, n_personas=n // 2, each=2
    )
    won = np.where(people == 0, contests.first, contests.second)
    met = np.bincount(contests.first, minlength=4) + np.bincount(contests.second, minlength=4)
    strengths = fit_strengths(*results(contests, people, np.ones((1, n)))).strength[0]
    return np.bincount(won, minlength=4) / met, strengths


def rates(rng: np.random.Generator, counts: Counts, *, accuracy: float) -> None:
    of_rates, of_strengths = true_rates()
    contests, people, judge, persona = planted(rng, accuracy=accuracy)
    sharing = Sharing.of_items(persona.size, {"persona": persona})
    # The errors are known on one third of the items.
    some = np.where(rng.random(persona.size) < 1 / 3, people, -1)
    for name, found, truth in (
        ("win rate", [each.rate for each in win_rates(contests, people, sharing)], of_rates),
        ("strength", system_strengths(contests, people, sharing).strengths, of_strengths),
        ("corrected", corrected_win_rates(contests, judge, some, sharing).rates, of_rates),
        ("uncorrected", [each.rate for each in win_rates(contests, judge, sharing)], of_rates),
    ):
        for each, at in zip(found, truth, strict=True):
            counts.covered(name, each.interval, float(at))


_OF_SYSTEMS = tuple(
    MethodCheck(
        f"four systems, a judge right on {100 * accuracy:.0f} %",
        "60 personas with tastes of their own × 6 items; the judge’s errors are known on a third.",
        partial(rates, accuracy=accuracy),
        {
            "win rate": covers(),
            "strength": covers(),
            "corrected": covers(),
            "uncorrected": compared(),
        },
        quick=40,
        full=1500,
    )
    for accuracy in (0.7, 0.85)
)


ESTIMATION = Family("estimation", _OF_MEANS)
SYSTEMS = Family("systems", _OF_SYSTEMS)
