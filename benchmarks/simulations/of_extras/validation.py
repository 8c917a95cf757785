"""Promises about pasted answers, juries and widths of intervals, checked by simulation."""

from collections.abc import Callable
from functools import cache, partial
from itertools import combinations

import numpy as np

from analysis.stats import SharedKind, Sharing, Votes
from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.comparison.replacement import pooled_replacement_test
from analysis.stats.core.results import FloatArray, IntArray, Interval
from benchmarks.simulations.promises import Counts, Family, MethodCheck, covers, errs, is_on_average
from extras.validation.stats import (
    BreakdownPoint,
    ErrorBudget,
    StudySize,
    breakdown_point,
    effective_judges,
    error_budget,
    replacement_breakdown,
)
from extras.validation.stats.contests import state_of

PEOPLE, ITEMS, MARGIN, EPSILON = 10, 45, 0.05, 0.1


def brute_force(
    answers: IntArray, pasted: IntArray, state: Callable[[IntArray], str | None]
) -> int | None:
    """The smallest number of people by trying all groups; `state` is the verdict on answers."""
    people = answers.shape[1]
    now = state(answers)

    def becomes(members: tuple[int, ...]) -> str | None:
        changed = answers.copy()
        changed[:, members] = np.where(answers[:, members] >= 0, pasted[:, None], -1)
        return state(changed)

    sizes = range(1, people + 1)
    return next(
        (
            size
            for size in sizes
            if any(becomes(members) != now for members in combinations(range(people), size))
        ),
        None,
    )


def against_majority(answers: IntArray, judge: IntArray, sharing: Sharing) -> str | None:
    """The verdict on a judge where 0 is always right."""
    right = (answers == 0).sum(axis=1) - (answers == 1).sum(axis=1)
    gain = np.where(right > 0, 1.0, np.where(right < 0, 0.0, 0.5))
    return state_of(general_difference((judge == 0) - gain, sharing, margin=MARGIN), MARGIN)


def instead_of_a_person(answers: IntArray, judge: IntArray, sharing: Sharing) -> str | None:
    """The verdict on a judge without right answers."""
    votes = Votes.from_matrix(answers)
    found = pooled_replacement_test(votes, judge, epsilon=EPSILON, sharing=sharing)
    if found.replaceable:
        return "replaceable"
    ends = [each.advantage.interval for each in (found.raw, found.balanced)]
    if found.raw.advantage.interval is None:
        return None
    is_worse = any(each is not None and each.low > EPSILON for each in ends)
    return "not_replaceable" if is_worse and found.rarest >= 20 else "not_settled"


def people_who_answer(
    rng: np.random.Generator, items: int, people: int, each: int, wrong: float
) -> tuple[IntArray, IntArray]:
    """Answers of some people to each item, and the answers that are better."""
    better = rng.integers(0, 2, items)
    answers = np.full((items, people), -1)
    for item in range(items):
        who = rng.choice(people, each, replace=False)
        answers[item, who] = better[item] ^ (rng.random(each) < wrong)
    return answers, better


def pasted(rng: np.random.Generator, counts: Counts) -> None:
    """Ten people, two to an item; every group is tried by another program as well."""
    answers, better = people_who_answer(rng, ITEMS, PEOPLE, 2, rng.choice([0.2, 0.4]))
    answers = np.where(answers >= 0, answers ^ better[:, None], -1)
    judge = (rng.random(ITEMS) < rng.choice([0.05, 0.3, 0.5])).astype(np.int64)
    truth, votes = np.zeros(ITEMS, dtype=int), Votes.from_matrix(answers)
    sharing = Sharing.of_items(ITEMS, {}, votes)
    found = breakdown_point(votes, judge, truth, judge, sharing, margin=MARGIN, rng=rng, n_draws=2)
    if found.state is None:
        return
    of_all = brute_force(answers, judge, lambda rows: against_majority(rows, judge, sharing))
    counts.happened("differs from all groups tried", found.high != of_all)


def pasted_without_truth(rng: np.random.Generator, counts: Counts) -> None:
    """The same without right answers, with labels of equal and of unequal frequency."""
    answers, better = people_who_answer(rng, ITEMS, PEOPLE, 2, rng.choice([0.1, 0.3]))
    if rng.random() < 0.5:
        answers[: ITEMS // 2] = np.where(answers[: ITEMS // 2] >= 0, 0, -1)
        better[: ITEMS // 2] = 0
    judge = better ^ (rng.random(ITEMS) < rng.choice([0.0, 0.1, 0.4]))
    votes = Votes.from_matrix(answers)
    sharing = Sharing.of_items(ITEMS, {}, votes)
    other = judge if rng.random() < 0.5 else 1 - judge
    found = replacement_breakdown(votes, judge, other, sharing, epsilon=EPSILON, rng=rng, n_draws=2)
    if found.state is None:
        return
    of_all = brute_force(answers, other, lambda rows: instead_of_a_person(rows, judge, sharing))
    counts.happened("differs from all groups tried", found.high != of_all)
    counts.happened(
        "another verdict than the test", found.state != instead_of_a_person(answers, judge, sharing)
    )


def bounded(rng: np.random.Generator, counts: Counts, *, has_truth: bool) -> None:
    """Thirty people: the group that was found must change the verdict."""
    answers, better = people_who_answer(rng, 150, 30, 3, 0.45 if has_truth else 0.25)
    judge = better ^ (rng.random(150) < (0.15 if has_truth else 0.35))
    sharing = Sharing.of_items(150, {}, Votes.from_matrix(answers))

    def breakdown(rows: IntArray) -> BreakdownPoint:
        votes = Votes.from_matrix(rows)
        if has_truth:
            return breakdown_point(votes, judge, better, judge, sharing, rng=rng, n_draws=2)
        return replacement_breakdown(
            votes, judge, judge, sharing, epsilon=EPSILON, rng=rng, n_draws=2
        )

    found = breakdown(answers)
    if found.high is None or found.low is None:
        return
    changed, members = answers.copy(), list(found.found)
    changed[:, members] = np.where(answers[:, members] >= 0, judge[:, None], -1)
    counts.happened("the group does not change it", breakdown(changed).state == found.state)
    counts.happened("bounds in the wrong order", found.low > found.high)


def made_jury(
    rng: np.random.Generator, n: int, together: float, k: int, of_personas: float
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Errors of judges who copy a common answer in a share of items, difficulty, personas."""
    ease = rng.choice([0.1, 0.3, 0.5], n)
    codes = np.arange(n) // 6
    hard = np.clip(ease + rng.normal(0, of_personas, codes.max() + 1)[codes], 0.01, 0.99)
    common = rng.random((n, 1)) < hard[:, None]
    copied = rng.random((n, k)) < np.sqrt(together)
    errors = np.where(copied, common, rng.random((n, k)) < hard[:, None])
    return errors.astype(np.float64), ease, codes


@cache
def true_correlation(together: float, k: int, of_personas: float) -> float:
    """The planted correlation, by a long simulation where personas differ."""
    if not of_personas:
        return together
    errors, ease, _ = made_jury(np.random.default_rng(0), 600_000, together, k, of_personas)
    found = effective_judges(errors, ease, Sharing.of_items(ease.size, {})).correlation
    return float(found or 0.0)


def jury(
    rng: np.random.Generator, counts: Counts, *, together: float, k: int, of_personas: float
) -> None:
    errors, ease, codes = made_jury(rng, 300, together, k, of_personas)
    found = effective_judges(errors, ease, Sharing.of_items(300, {"persona": codes}))
    true = true_correlation(together, k, of_personas)
    counts.measured("correlation of errors", found.correlation)
    counts.covered("interval of the correlation", found.correlation_interval, true)
    counts.covered("interval of the number", found.interval, k / (1 + (k - 1) * true))


BREAKDOWN = Family(
    "breakdown",
    (
        *(
            MethodCheck(
                f"ten people{words}",
                f"{ITEMS} items, two people each; all 1,023 groups are tried by another program.",
                once,
                {"differs from all groups tried": errs(0.0)} | more,
                quick=10,
                full=200,
            )
            for words, once, more in (
                ("", pasted, {}),
                (
                    ", no right answers",
                    pasted_without_truth,
                    {"another verdict than the test": errs(0.0)},
                ),
            )
        ),
        *(
            MethodCheck(
                f"thirty people{'' if has_truth else ', no right answers'}",
                "150 items, three people each; the group that was found is replaced.",
                partial(bounded, has_truth=has_truth),
                {
                    "the group does not change it": errs(0.0),
                    "bounds in the wrong order": errs(0.0),
                },
                quick=10,
                full=200,
            )
            for has_truth in (True, False)
        ),
    ),
)

EFFECTIVE_JUDGES = Family(
    "effective-judges",
    tuple(
        MethodCheck(
            f"{k} judges that err together: correlation {together:g}{words}",
            "300 items of 50 personas and three known difficulties.",
            partial(jury, together=together, k=k, of_personas=of_personas),
            {
                "interval of the correlation": covers(),
                "interval of the number": covers(),
            }
            | (
                {}
                if of_personas
                else {"correlation of errors": is_on_average(together, within=0.01)}
            ),
            quick=100,
            full=2000,
        )
        for k, together, of_personas, words in (
            (3, 0.0, 0.0, ""),
            (9, 0.0, 0.0, ""),
            (3, 0.4, 0.0, ""),
            (9, 0.4, 0.0, ""),
            (9, 0.4, 0.15, ", personas differ"),
        )
    ),
)


WORDING, INTERACTION, ORDER = 0.04, 0.08, 0.1  # standard deviations between readings of a judge


def budget_of(rng: np.random.Generator, size: StudySize) -> ErrorBudget:
    """A study where items, people, personas and questions differ; people answer 30 items.

    With several wordings, these and the two orders change the judge's readings.
    """
    n, k = size.items, round(size.answers)
    item, people = np.repeat(np.arange(n), k), n * k // 30
    annotator = ((np.arange(n) % (people // k))[:, None] * k + np.arange(k)).ravel()
    persona, question = np.arange(n) // 5, rng.permutation(n) // 10
    hard = rng.normal(0, 0.15, n) + rng.normal(0, 0.08, n)[persona]
    hard += rng.normal(0, 0.08, n)[question]
    skill = rng.normal(0, 0.1, people)
    correct = rng.random(n * k) < np.clip(0.6 + hard[item] + skill[annotator], 0.02, 0.98)
    own = hard / 2 + rng.normal(0, 0.15, n) + rng.normal(0, 0.08, n)[persona]
    if size.wordings == 1:
        readings = np.full(n, round(size.readings))
        usual = rng.random(n) < np.clip(0.65 + own, 0.02, 0.98)
        hits = rng.binomial(readings, np.where(usual, 0.85, 0.15))
    else:
        shape = (n, size.wordings, min(round(size.readings), 2))
        readings = np.full(shape, round(size.readings) // shape[2])
        moved = rng.normal(0, WORDING, shape[1]) + rng.normal(0, INTERACTION, shape[:2])
        order = rng.normal(0, ORDER, n)[:, None] * np.resize([1, -1], shape[2])
        chance = 0.6 + 0.3 * own[:, None, None] + moved[:, :, None] + order[:, None]
        hits = rng.binomial(readings, np.clip(chance, 0, 1))
    codes = {"item": item, "annotator": annotator}
    codes |= {"persona": persona[item], "question": question[item]}
    kinds = {name: SharedKind.of(np.arange(n * k), code, n * k) for name, code in codes.items()}
    return error_budget(correct.astype(int), item, hits, readings, Sharing.of(n * k, kinds))


def in_wordings(rng: np.random.Generator, counts: Counts) -> None:
    """The judge is as good as a person on average, over wordings."""
    found = budget_of(rng, StudySize(300, 3, 4, 4))
    if found.value is None or found.half_width is None:
        return
    low, high = found.value - found.half_width, found.value + found.half_width
    ends = Interval(low, high, 0.95, "clusters", found.size.items)
    counts.covered("interval for other wordings", ends, 0.0)
    counts.measured("variance between wordings", (found.noise.wording or 0.0) / WORDING**2)
    counts.measured("variance between orders", (found.noise.order or 0.0) / (2 * ORDER**2))


def foreseen(rng: np.random.Generator, counts: Counts, *, size: StudySize) -> None:
    before = budget_of(rng, StudySize(300, 3, 2) if size.wordings == 1 else StudySize(300, 3, 4, 5))
    after = budget_of(rng, size)
    if before.half_width is not None and after.half_width is not None:
        counts.measured("expected width", before.width_of(size) / _realised(size))
        counts.measured("real width", after.half_width / _realised(size))


@cache
def _realised(size: StudySize) -> float:
    rng = np.random.default_rng(0)
    found = [budget_of(rng, size).half_width for _ in range(100)]
    return float(np.mean([each for each in found if each is not None]))


ERROR_BUDGET = Family(
    "error-budget",
    (
        *(
            MethodCheck(
                f"{size.items} items, {size.answers} answers, {size.readings} readings"
                + (f", {size.wordings} wordings" if size.wordings > 1 else ""),
                "Foreseen from 300 items with 3 answers and 2 readings, or 4 in each of 5 "
                "wordings, as a share of the mean width.",
                partial(foreseen, size=size),
                {
                    "expected width": is_on_average(1.0, within=0.1),
                    "real width": is_on_average(1.0, within=0.1),
                },
                quick=30,
                full=300,
            )
            for size in (
                StudySize(600, 3, 2),
                StudySize(300, 6, 2),
                StudySize(300, 3, 8),
                StudySize(600, 5, 4),
                StudySize(300, 3, 4, 10),
                StudySize(600, 3, 8, 5),
            )
        ),
        MethodCheck(
            "four wordings, two orders",
            "300 items, 3 answers, 4 readings in each wording; the judge equals a person.",
            in_wordings,
            {
                "interval for other wordings": covers(),
                "variance between wordings": is_on_average(1.0, within=0.1),
                "variance between orders": is_on_average(1.0, within=0.1),
            },
            quick=60,
            full=1000,
        ),
    ),
)
