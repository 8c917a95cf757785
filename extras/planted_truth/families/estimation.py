"""Shares of all judged items from people's answers on some of them."""

from functools import partial

import numpy as np

from analysis.promises import Counts, MethodCheck, compared, covers, errs
from analysis.stats import calibrated_mean, general_proportion, powered_mean, rogan_gladen
from analysis.stats.core.shared_variance import ANNOTATOR
from analysis.stats.estimation.scores import width

from ..worlds.judged_items import Judge, Judged, sampled, true_share

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


CHECKS = (
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
