"""Each run set beside the people, on the items that both answered."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import CHOICES, Dataset, Run
from analysis.data.verdicts import Verdicts, run_options
from analysis.report.encode import Json, number, pick, put, put_estimate, put_interval
from analysis.report.judges import identity
from analysis.report.sections.accuracy.equal_certainty import adjust_bands, by_band
from analysis.report.sections.certainty.comparison import certainty_beside
from analysis.report.sections.glance.crowd_equivalence import worth_entry
from analysis.stats.accuracy.bounds import difference_bounds
from analysis.stats.agreement.alpha import krippendorff_alpha
from analysis.stats.agreement.coefficients import cohen_kappa
from analysis.stats.comparison.alt_test import AltTest, alt_test, alt_test_certainty
from analysis.stats.comparison.differences import equivalence, paired_difference
from analysis.stats.comparison.human_likeness import HumanLikeness, human_likeness_of_several
from analysis.stats.comparison.leave_one_out import leave_one_out, pooled_replacement_test
from analysis.stats.comparison.mistakes import error_consistency
from analysis.stats.comparison.paired import PairedCounts, count_pairs, mcnemar
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.proportions import wilson_proportion
from analysis.stats.core.votes import Votes

# The advantage that crowd workers are granted over a model, by the authors of the test.
EPSILON = 0.1
CONDITIONAL = "these annotators and items only"


def comparison_entry(
    data: Dataset,
    run: Run,
    judge: Verdicts,
    people: Verdicts,
    likeness: HumanLikeness,
    *,
    threshold: float,
    seed: int,
    draws: int,
) -> Json:
    votes = replace(
        people.majority.votes, n_options=max(people.majority.votes.n_options, run_options(run))
    )
    pairs = count_pairs(judge.correct, people.correct)
    out = identity(run)
    out |= _agreement(judge, people, votes.n_options)
    out["mcnemar"] = _mcnemar(pairs)
    out["difference"] = _difference(pairs, data.study.equivalence_margin)
    out["difference"]["bounds"] = _bounds(judge, people)
    out["by_band"] = by_band(judge, people, threshold=threshold)
    out["same_mistakes"] = _same_mistakes(judge, people, seed=seed, draws=draws)
    out |= _in_place_of_a_person(votes, judge, likeness)
    out["leave_one_out"] = _leave_one_out(votes, judge)
    out |= worth_entry(data, judge, people, seed=seed, draws=draws)
    out["certainty"] = certainty_beside(
        data, run, judge, people, threshold=threshold, seed=seed, draws=draws
    )
    return out


def adjust_for_several(entries: Sequence[Json], families: Sequence[Sequence[int]]) -> None:
    """Holm's p values over the runs that compete with one another: more judges, more luck."""
    for positions in families:
        family = [entries[index] for index in positions]
        adjusted = holm([entry["mcnemar"]["p"] for entry in family])
        for entry, p in zip(family, adjusted, strict=True):
            put(entry["mcnemar"], "p_holm", number(p), entry["mcnemar"].get("p_reason"))
            entry["mcnemar"]["family"] = len(family)
    adjust_bands(entries)


def agreement_matrix(
    people: Verdicts, judges: Sequence[Verdicts], truth: npt.ArrayLike
) -> list[list[Json]]:
    """Agreement of majority, every run and the truth with one another, in that order."""
    sides = [people.answer, *(judge.answer for judge in judges), np.asarray(truth, np.int64)]
    matrix: list[list[Json]] = [[{} for _ in sides] for _ in sides]
    for row, one in enumerate(sides):
        for column in range(row, len(sides)):
            matrix[row][column] = matrix[column][row] = _pair(one, sides[column])
    return matrix


def _pair(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> Json:
    both = (one >= 0) & (other >= 0)
    kappa = cohen_kappa(one, other, n_options=len(CHOICES))
    out: Json = {"n": int(both.sum())}
    put(out, "agreement", float((one == other)[both].mean()) if both.any() else None)
    put(out, "kappa", number(kappa.value), kappa.reason)
    options = np.arange(len(CHOICES))
    alpha = krippendorff_alpha(
        (one[both, None] == options).astype(np.int64) + (other[both, None] == options)
    )
    put(out, "alpha", number(alpha.value), alpha.reason)
    return out


def _agreement(judge: Verdicts, people: Verdicts, n_options: int) -> Json:
    both = (judge.answer >= 0) & (people.answer >= 0)
    same = wilson_proportion((judge.answer == people.answer)[both])
    kappa = cohen_kappa(people.answer, judge.answer, n_options=n_options)
    out: Json = {"common_items": int(both.sum())}
    put(out, "agreement_with_majority", number(same.value), same.reason)
    put_interval(out, "agreement_ci", same.interval, same.reason)
    put_estimate(out, "cohen_kappa", kappa)
    return out


def _mcnemar(pairs: PairedCounts) -> Json:
    test = mcnemar(pairs)
    out: Json = {"holds_for": CONDITIONAL, "n": pairs.n, "b": pairs.b, "c": pairs.c}
    put(out, "p", number(test.p), test.reason)
    put(out, "p_mid", number(test.p_mid), test.reason)
    return out


def _difference(pairs: PairedCounts, margin: float) -> Json:
    """Judge less people for these annotators only; no verdict rests on it."""
    difference = paired_difference(pairs)
    verdict = equivalence(pairs, margin=margin)
    out: Json = {"holds_for": CONDITIONAL, "n": pairs.n}
    put(out, "value", number(difference.value), difference.reason)
    put_interval(out, "ci", difference.interval, difference.reason)
    # Wald's standard error is 0 where no item, or every item in one way, is discordant.
    wald = difference.wald
    if wald is not None and wald.low == wald.high:
        wald = None
    put_interval(out, "wald_ci", wald, difference.reason or "no_variation")
    out["margin"] = margin
    put(out, "state", verdict.state, verdict.reason)
    put(out, "equivalence_p", number(verdict.p), verdict.reason)
    put_interval(out, "equivalence_ci", verdict.interval, verdict.reason)
    return out


def _bounds(judge: Verdicts, people: Verdicts) -> Json:
    """The least and the greatest difference that missing answers of either side allow."""
    asked = (judge.scored | people.scored).nonzero()[0]
    found = difference_bounds(judge.correct[asked], people.correct[asked])
    out = pick(found, {"low": "low", "high": "high", "sign_holds": "sign_holds"})
    return out | {"n_excluded": found.n_excluded}


def _same_mistakes(judge: Verdicts, people: Verdicts, *, seed: int, draws: int) -> Json:
    """Whether both are right and wrong on the same items, beyond what their accuracies give."""
    found = error_consistency(
        judge.correct, people.correct, n_draws=draws, rng=np.random.default_rng(seed)
    )
    out: Json = {
        "n": found.n,
        "both_right": found.n_both_right,
        "only_judge": found.n_first_only,
        "only_people": found.n_second_only,
        "both_wrong": found.n_both_wrong,
    }
    kappa = found.kappa
    put(out, "kappa", number(kappa.value), kappa.reason)
    put_interval(out, "ci", kappa.interval, kappa.interval_reason or kappa.reason)
    return out


def _leave_one_out(votes: Votes, judge: Verdicts) -> Json:
    """The judge and each person against the majority of the other people, on the same items."""
    found = leave_one_out(votes, judge.answer)
    difference = found.difference
    out: Json = {"n": found.n, "ties": found.n_ties, "people": len(found.annotators)}
    put(out, "difference", number(difference.value), difference.reason)
    put_interval(out, "ci", difference.interval, difference.interval_reason or difference.reason)
    put(out, "judge_agreement", number(found.model_agreement), difference.reason)
    put(out, "people_agreement", number(found.human_agreement), difference.reason)
    return out


def _alt_test(test: AltTest) -> Json:
    out = pick(test, {"omega": "omega", "rho": "rho", "passed": "passed"})
    return out | {"tested": len(test.annotators), "skipped": test.n_skipped}


def likenesses(
    data: Dataset, judges: Sequence[Verdicts], people: Verdicts, *, seed: int, draws: int
) -> tuple[HumanLikeness, ...]:
    """Every run's kappa with people beside theirs with each other, on the same resamples."""
    votes = people.majority.votes
    options = max([votes.n_options, *(run_options(run) for run in data.runs)])
    return human_likeness_of_several(
        replace(votes, n_options=options),
        [judge.answer for judge in judges],
        n_draws=draws,
        rng=np.random.default_rng(seed),
    )


def _in_place_of_a_person(votes: Votes, judge: Verdicts, likeness: HumanLikeness) -> Json:
    """Could the judge sit among the annotators? Two tests, and a description."""
    test = alt_test(votes, judge.answer, epsilon=EPSILON)
    alt = _alt_test(test) | {"epsilon": test.epsilon, "q": test.q}
    alt["certainty"] = _alt_test(alt_test_certainty(votes, judge.certainty, epsilon=EPSILON))

    pooled = pooled_replacement_test(votes, judge.answer, epsilon=EPSILON)
    reason = pooled.advantage.reason or pooled.advantage.interval_reason
    pooled_out: Json = {"epsilon": pooled.epsilon, "n": pooled.n}
    put(pooled_out, "advantage_of_people", number(pooled.advantage.value), pooled.advantage.reason)
    put_interval(pooled_out, "ci", pooled.advantage.interval, reason)
    put(pooled_out, "p", number(pooled.p), reason)

    out: Json = {"alt_test": alt, "pooled_replacement": pooled_out}
    put(out, "human_likeness_z", number(likeness.z), likeness.reason)
    kappas: Json = {"people": likeness.n_people, "pairs": likeness.n_pairs}
    kappas["pairs_skipped"] = likeness.n_pairs_skipped
    gap = likeness.difference
    put(kappas, "difference", number(gap.value), gap.reason)
    put_interval(kappas, "ci", gap.interval, gap.interval_reason or gap.reason)
    put(kappas, "judge_kappa", number(likeness.model_kappa), likeness.reason)
    put(kappas, "people_kappa", number(likeness.human_kappa), likeness.reason)
    put(kappas, "label", likeness.label, likeness.reason or "too_few_annotators")
    out["human_likeness"] = kappas
    return out
