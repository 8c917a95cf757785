"""The first screen of a report: is a judge better, worse or equivalent, and how accurate?"""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import stats

from analysis.promises import Counts, MethodCheck, Promise, compared, covers, errs
from analysis.stats import (
    PairedCounts,
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
from extras.planted_truth.worlds.studies import (
    JUDGES,
    Design,
    StudyBatch,
    Truth,
    batch_of,
    truth_of,
)

MARGIN, LEVEL, Z_90 = 0.1, 0.05, 1.6448536269514722
INSIDE = ("equivalent", "different_within_margin")
BATCH = 50
# Cells whose items differ from study to study are computed in one of so many studies.
EVERY = 5


def studies(rng: np.random.Generator, counts: Counts, *, design: Design) -> None:
    """Count what the first screen would claim about a batch of studies."""
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
    """Add the intervals of agreement, which the first screen shows if nobody knows the truth."""
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
    """Add results for a random certainty, for which the truth of a cell is that of all items."""
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


# The busiest person answers 63 % of the items of the first: too few people for a verdict.
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
    """Trios share 30 items; the people of a trio are better or worse than the model together."""
    blocks, size = 10, 30
    shift = rng.normal(0, 0.6, (blocks, 1))
    person = rng.random((blocks, size)) < 1 / (1 + np.exp(-0.8 - shift))
    model = rng.random((blocks, size)) < 1 / (1 + np.exp(-0.8))
    diffs = model.astype(float) - person
    # The two are equally accurate up to the curvature of the logit, which is known.
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
        "Ten trios of people share 30 items each and are better or worse than a model together.",
        trios,
        {
            "t test over blocks rejects": errs(0.05, most=0.06),
            "McNemar rejects": compared("false claims", 0.05),
        },
        quick=1500,
        full=20000,
    ),
)
