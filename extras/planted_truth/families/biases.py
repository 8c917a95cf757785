"""Biases of judges: factors of the prompt, probes, advice, and length."""

from functools import partial

import numpy as np

from analysis.promises import Counts, MethodCheck, compared, covers, errs, is_on_average
from analysis.stats import Sharing, general_difference, length_pull, own_preference, probe_effect
from analysis.stats.comparison.factor_effects import factor_effects
from analysis.stats.comparison.persuasion import persuasion
from analysis.stats.comparison.reliance import reliance, squared_shifts
from analysis.stats.core.results import FloatArray

from ..worlds.biases import PULL_OF_LENGTH, asked, of_own, probed, pulled


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


PERSONAS, EACH = 40, 5


def advice(rng: np.random.Generator, counts: Counts) -> None:
    n = PERSONAS * EACH
    sharing = Sharing.of_items(n, {"persona": np.arange(PERSONAS).repeat(EACH)})
    follows = rng.beta(2, 3, PERSONAS).repeat(EACH)
    after = (rng.random(n) < follows).astype(int)
    zeros, sure = np.zeros(n, int), np.full(n, 60.0)
    found = persuasion(zeros, after, sure, sure, np.ones_like(zeros), sharing)
    counts.covered("shift towards the advice", found.shift.interval, 0.4)


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


def twins(rng: np.random.Generator, counts: Counts, *, people: float, judge: float) -> None:
    """Shares move by these amounts where a persona is changed; people answer thrice, judges twice.

    300 pairs of 60 personas, half of which move up and half down.
    """
    persona = np.arange(300) // 5
    sign = rng.choice([-1, 1], 60)[persona]
    base = rng.uniform(0.3, 0.7, 300)

    def shifts(by: float, k: int) -> FloatArray:
        one, two = rng.binomial(k, base), rng.binomial(k, base + sign * by)
        tables = [np.stack([ones, k - ones], axis=1) for ones in (one, two)]
        return squared_shifts(*tables)

    own, theirs = shifts(judge, 2), shifts(people, 3)
    sharing = Sharing.of_items(300, {"persona": persona})
    found = reliance(theirs, sharing).squared
    counts.covered("squared shift of people", found.interval, people**2)
    counts.measured("squared shift of people, mean", found.value)
    gap = general_difference(own - theirs, sharing)
    counts.covered("judge less people", gap.interval, judge**2 - people**2)
    if people == judge:
        counts.happened("a difference is found", gap.p is not None and gap.p < 0.05)


CHECKS = (
    *(
        MethodCheck(
            name,
            "300 pairs of 60 personas; three people and two readings answer each item.",
            partial(twins, people=people, judge=judge),
            {
                "squared shift of people": covers(),
                "squared shift of people, mean": is_on_average(people**2),
                "judge less people": covers(),
            }
            | ({"a difference is found": errs(0.05, most=0.06)} if people == judge else {}),
            quick=200,
            full=3000,
        )
        for name, people, judge in (
            ("changed personas that change no answer", 0.0, 0.0),
            ("a judge that relies on an attribute as people do", 0.2, 0.2),
            ("a judge that relies on an attribute more than people", 0.1, 0.3),
        )
    ),
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
        "advice that personas follow to different degrees",
        "40 personas × 5 items; each persona follows with a chance of its own, 40 % on average.",
        advice,
        {"shift towards the advice": covers()},
        quick=300,
        full=5000,
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
