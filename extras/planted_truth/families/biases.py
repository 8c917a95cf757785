"""Biases of judges: factors of the prompt, probes, and length."""

from functools import partial

import numpy as np

from analysis.promises import Counts, MethodCheck, compared, covers, errs
from analysis.stats import Sharing, length_pull, own_preference, probe_effect
from analysis.stats.comparison.factor_effects import factor_effects
from extras.planted_truth.worlds.biases import PULL_OF_LENGTH, asked, of_own, probed, pulled


def factors(rng: np.random.Generator, counts: Counts) -> None:
    """A wording that matters, and a framing and an order that do not."""
    _, framing, order = factor_effects(*asked(rng, wording=(0.12, 0.0, -0.12))).effects
    counts.happened("an effect of the framing is found", framing.p is not None and framing.p < 0.05)
    counts.happened("an effect of the order is found", order.p is not None and order.p < 0.05)
    wording = factor_effects(*asked(rng)).effects[0]
    name = "an effect of wordings that do not differ is found"
    counts.happened(name, wording.p is not None and wording.p < 0.05)


def probes(rng: np.random.Generator, counts: Counts, *, shift: float) -> None:
    before, after, item, clusters = probed(rng, shift)
    found = probe_effect(before, after, item, clusters, target=np.zeros(600, dtype=int)).shift
    if found is not None:
        counts.covered("shift", found.interval, shift)
        if not shift:
            counts.happened("a shift is found", found.p is not None and found.p < 0.05)


def length(rng: np.random.Generator, counts: Counts) -> None:
    *columns, persona = pulled(rng, 400, pull=0.4, sd_persona=1.2)
    for name, codes in (("by persona", persona), ("items as independent", np.arange(400))):
        found = length_pull(*columns, clusters={name: codes}).per_doubling
        counts.covered(f"log odds, {name}", found.interval, PULL_OF_LENGTH)


def own(rng: np.random.Generator, counts: Counts, *, missed: float, taken: float) -> None:
    judge, gold, persona = of_own(rng, missed=missed, taken=taken)
    sharing = Sharing.of_items(300, {"persona": persona})
    found = own_preference(judge, gold, sharing)
    counts.covered("DBG", found.dbg.interval, 0.3 * taken - 0.7 * missed)
    counts.covered("errors that favour own responses", found.bias.interval, taken - missed)
    if taken == missed:
        counts.happened("a preference is found", found.bias.p is not None and found.bias.p < 0.05)
        dbg = found.dbg.p is not None and found.dbg.p < 0.05
        counts.happened("DBG differs from 0", dbg)


CHECKS = (
    MethodCheck(
        "a judge that errs as often for as against its own responses",
        "300 pairs of 30 personas; its own response is better in 70 %, errors in 25 % of both.",
        partial(own, missed=0.25, taken=0.25),
        {
            "DBG": covers(),
            "errors that favour own responses": covers(),
            "a preference is found": errs(0.05, most=0.06),
            "DBG differs from 0": compared("false claims", 0.05),
        },
        quick=150,
        full=3000,
    ),
    MethodCheck(
        "a judge whose errors favour its own responses",
        "The same with errors in 40 % where the other is better and in 20 % where its own is.",
        partial(own, missed=0.2, taken=0.4),
        {"DBG": covers(), "errors that favour own responses": covers()},
        quick=150,
        full=3000,
    ),
    MethodCheck(
        "crossed factors of the prompt",
        "240 items × 3 wordings × 2 framings × 2 orders; only wordings differ, or nothing does.",
        factors,
        {
            "an effect of the framing is found": errs(0.05, most=0.06),
            "an effect of the order is found": errs(0.05, most=0.06),
            "an effect of wordings that do not differ is found": errs(0.05, most=0.06),
        },
        quick=300,
        full=5000,
    ),
    MethodCheck(
        "a probe that works",
        "300 items twice; a probe adds 15 points on average, more or less by persona and question.",
        partial(probes, shift=0.15),
        {"shift": covers()},
        quick=150,
        full=3000,
    ),
    MethodCheck(
        "a probe that does nothing on average",
        "The same with a mean effect of 0.",
        partial(probes, shift=0.0),
        {"shift": covers(), "a shift is found": errs(0.05, most=0.07)},
        quick=150,
        full=3000,
    ),
    MethodCheck(
        "the pull of length",
        "400 items of 40 personas whose preference for longer responses differs.",
        length,
        {
            "log odds, by persona": covers(least=0.92),
            "log odds, items as independent": compared(),
        },
        quick=200,
        full=4000,
    ),
)
