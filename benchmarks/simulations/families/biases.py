"""Biases of judges of known size: factors of the prompt, probes, and length."""

from functools import partial

import numpy as np

from analysis.stats import Sharing, length_pull, own_preference, probe_effect
from analysis.stats.comparison.contrast import group_contrast
from analysis.stats.core.results import IntArray
from benchmarks.simulations.answers import logistic
from benchmarks.simulations.promises import Counts, MethodCheck, compared, covers, errs

# Result of 2,000,000 items of `pulled` with pull .4 and SD 1.2 across personas.
PULL_OF_LENGTH = 0.241


def pulled(
    rng: np.random.Generator, n: int, *, pull: float, sd_persona: float = 0.0
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Lengths, choices that depend on length and truth, the truth, and the persona of each item."""
    one, two = rng.integers(20, 200, (2, n))
    truth, persona = rng.integers(0, 2, n), np.arange(n) // 10
    own = rng.normal(0, sd_persona, persona.max() + 1)[persona]
    ratio = np.log2(two / one)
    odds = (pull + own) * ratio + np.where(truth == 1, 0.8, -0.8) - 0.2
    return one, two, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), truth, persona


def probed(
    rng: np.random.Generator, shift: float
) -> tuple[IntArray, IntArray, IntArray, dict[str, IntArray]]:
    """Answers before and after a probe, item and clusters of each: 300 items asked twice.

    On average the probe adds `shift` to the chance of the favoured response 0, varying by persona
    and question.
    """
    persona, question = np.divmod(np.arange(300), 15)
    more = shift + rng.uniform(-0.12, 0.12, 20)[persona] + rng.uniform(-0.12, 0.12, 15)[question]
    item = np.repeat(np.arange(300), 2)
    before = (rng.random(600) >= 0.5).astype(int)
    after = (rng.random(600) >= np.repeat(0.5 + more, 2)).astype(int)
    clusters = {"persona": np.repeat(persona, 2), "question": np.repeat(question, 2)}
    return before, after, item, clusters


def of_own(
    rng: np.random.Generator, *, missed: float, taken: float, sd: float = 0.15
) -> tuple[IntArray, IntArray, IntArray]:
    """Choices of the judge's own response, gold answers, and personas of 300 pairs.

    The judge's own response is better in 70 % of pairs. The error rate is `missed` there and
    `taken` elsewhere, varying by persona.
    """
    persona = np.arange(300) // 10
    gold = (rng.random(300) < 0.7).astype(np.int64)
    rate = np.where(gold == 1, missed, taken) + rng.uniform(-sd, sd, 30)[persona]
    wrong = rng.random(300) < rate
    return np.where(wrong, 1 - gold, gold), gold, persona


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


def contrast(rng: np.random.Generator, counts: Counts, *, effect: float) -> None:
    """Answers at high and at low certainty, of personas that differ in how hard they are."""
    persona = np.repeat(np.arange(40), 5)
    is_high = rng.random(persona.size) < 0.3
    ease = rng.normal(1, 0.7, 40)[persona]
    right = rng.random(persona.size) < logistic(ease + effect * is_high)
    found = group_contrast(right, is_high, Sharing.of_items(persona.size, {"persona": persona}))
    z = np.random.default_rng(0).normal(1, 0.7, 200_000)
    truth = float(logistic(z + effect).mean() - logistic(z).mean())
    counts.covered("difference", found.interval, truth)
    if not effect:
        counts.happened("a difference is found", found.p is not None and found.p < 0.05)


CHECKS = (
    MethodCheck(
        "answers of two groups that do not differ",
        "200 answers about 40 personas that differ, 30 % of them at high certainty.",
        partial(contrast, effect=0.0),
        {"difference": covers(), "a difference is found": errs(0.05, most=0.07)},
        quick=150,
        full=3000,
    ),
    MethodCheck(
        "answers of two groups that differ",
        "The same; those at high certainty are right more often.",
        partial(contrast, effect=0.8),
        {"difference": covers()},
        quick=150,
        full=3000,
    ),
    MethodCheck(
        "a judge that errs as often for as against its own responses",
        "300 pairs of 30 personas; its own response is better in 70 %; 25 % errors in both cases.",
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
        "The same with 40 % errors if the other response is better and 20 % if its own is.",
        partial(own, missed=0.2, taken=0.4),
        {"DBG": covers(), "errors that favour own responses": covers()},
        quick=150,
        full=3000,
    ),
    MethodCheck(
        "a probe that works",
        "300 items twice; a probe adds 15 points on average, varying by persona and question.",
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
        "400 items of 40 personas with different preferences for longer responses.",
        length,
        {
            "log odds, by persona": covers(least=0.92),
            "log odds, items as independent": compared(),
        },
        quick=200,
        full=4000,
    ),
)
