"""The verdict on judges whose labels are classes, steps in an order, or scores.

Each judge has its own verdict; Holm's method allows for their number.
"""

import hashlib
import math
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote as quoted
from statistics import NormalDist, fmean
from typing import Any

import numpy as np
from scipy import sparse

from analysis.report.quantities import Name, capitalised, clause
from analysis.report.results import not_settled
from analysis.report.rules import LEVEL
from analysis.report.verdict.answer import POWER
from analysis.report.words import number_of, percent, points, points_range, reason
from analysis.stats import (
    ClassAgreement,
    IntraclassCorrelation,
    PooledReplacement,
    class_agreement,
    gwet_ac,
    holm,
    intraclass_correlation,
    krippendorff_alpha,
    majority_vote,
    pooled_replacement_test,
    weighted_kappa,
)
from analysis.stats.comparison.replacement import FEWEST_OF_A_LABEL, ONE_LABEL
from analysis.stats.core.multiplicity import left_by_holm
from analysis.stats.core.results import IntArray, Trust
from analysis.stats.core.shared_variance import ANNOTATORS_PER_ANSWER, FEWEST_ANNOTATORS
from thirdperson.check.labels import LabelTable
from thirdperson.check.level_shift import LevelShift, level_shifts
from thirdperson.check.levels import LabelScale
from thirdperson.check.right_labels import RightLabels, right_labels
from thirdperson.check.scale_table import ScaleTable
from thirdperson.check.tiers import JudgeTier, tiers

FEWEST_SHARED = 10  # items of two raters for their kappa
_METRICS: dict[str, Any] = {"nominal": "nominal", "ordinal": "ordinal", "score": "interval"}
_SIDES = ("raw", "balanced")


@dataclass(frozen=True)
class ScaleVerdict:
    """One judge: `p` is adjusted for the number of judges, `why` keeps the answer open.

    `holds_from` and `holds_below` are the ends of ε from which the judge can, and below which it
    cannot, replace a person.
    """

    judge: str
    trust: Trust
    sentence: str
    why: str
    found: PooledReplacement
    p: float | None
    holds_from: float | None
    holds_below: float | None
    kappa: float | None
    classes: Sequence[ClassAgreement]
    labels_needed: int | None
    right: RightLabels | None
    shift: LevelShift | None
    tier: JudgeTier | None


@dataclass(frozen=True)
class TrivialJudge:
    """Its agreement with a person, and the same with labels weighted equally."""

    name: str
    raw: float
    balanced: float


@dataclass(frozen=True)
class ScaleFinding:
    """The verdicts, the best judge first, and how people agree with each other.

    `common` is said instead of the sentences of several judges that share the reason why nothing is
    settled. `advice` is what to do then. `coefficients` have a name, a value and why there is none.
    `pairs` are two people, their items and kappa. `against` says what the classes of a judge are
    compared with, `data` is a hash of all labels.
    """

    scale: LabelScale
    verdicts: Sequence[ScaleVerdict]
    common: str
    advice: str
    references: Sequence[TrivialJudge]
    coefficients: Sequence[tuple[str, float | None, str]]
    pairs: Sequence[tuple[str, str, int, float | None]]
    against: str
    used: Sequence[str]
    caveats: Sequence[str]
    items: int
    labels: int
    people: int
    people_effective: float | None
    epsilon: float
    margin: float
    data: str

    @property
    def best(self) -> ScaleVerdict:
        return self.verdicts[0]


def scale_finding(labels: LabelTable, scale: LabelScale, options: Namespace) -> ScaleFinding:
    table = ScaleTable(labels, scale)
    pairs = _pairs(table)
    verdicts = _verdicts(table, options)
    first = verdicts[0].found
    return ScaleFinding(
        scale=scale,
        verdicts=verdicts,
        common=_common(table, verdicts),
        advice=_advice(table, verdicts),
        references=_references(table, first),
        coefficients=_coefficients(table, pairs),
        pairs=pairs,
        against=_against(labels),
        used=table.used(),
        caveats=_caveats(labels, scale, options.these_people, verdicts),
        items=len(table.items),
        labels=table.votes.n,
        people=table.votes.n_annotators,
        people_effective=first.people_effective,
        epsilon=options.epsilon,
        margin=options.margin,
        data=hashlib.sha256(
            repr(sorted((x.item, x.rater, x.is_judge, x.value) for x in labels.labels)).encode()
        ).hexdigest(),
    )


def _verdicts(table: ScaleTable, options: Namespace) -> list[ScaleVerdict]:
    these_people: bool = options.these_people
    sharing = table.sharing(these_people=these_people)
    right = right_labels(table, these_people=these_people, margin=options.margin)

    def tested(choice: IntArray, level: float = 1 - LEVEL) -> PooledReplacement:
        # The gain is tested at the smallest level that Holm's method uses.
        return pooled_replacement_test(
            table.votes,
            choice,
            epsilon=options.epsilon,
            sharing=sharing,
            alpha=LEVEL / len(table.judges),
            level=level,
            scale=table.answers,
        )

    tests = {judge: tested(choice) for judge, choice in table.judges.items()}
    ps = {judge: _p(test) for judge, test in tests.items()}
    holds_from = _holds_from(
        [judge for judge, p in ps.items() if p is not None],
        lambda judge, alpha: _lost_at_most(tested(table.judges[judge], 1 - 2 * alpha)),
    )
    shifts = level_shifts(table, these_people=these_people)
    tier_of = tiers(table, options)
    adjusted = holm([*ps.values()])
    verdicts = [
        replace(
            _verdict(table, judge, tests[judge], p, right.get(judge), holds_from.get(judge), among),
            shift=shifts.get(judge),
            tier=tier_of.get(judge),
        )
        for judge, p, among in zip(ps, adjusted, left_by_holm(adjusted), strict=True)
    ]
    best_first = (Trust.TRUSTED, Trust.INCONCLUSIVE, Trust.NOT_TRUSTED)

    def rank(one: ScaleVerdict) -> tuple[int, float]:
        lost = one.found.advantage.value
        return best_first.index(one.trust), math.inf if lost is None else lost

    return sorted(verdicts, key=rank)


def _against(labels: LabelTable) -> str:
    if labels.gold:
        return "the right label"
    is_one = len(labels.raters(is_judge=False)) == 1
    return "the one person" if is_one else "the majority of people"


# Reasons that lie in the labels of people, not in a judge.
_OF_PEOPLE = frozenset({"rare_label", "clusters", "no_pairs"})


def _common(table: ScaleTable, verdicts: Sequence[ScaleVerdict]) -> str:
    """One sentence for all judges, if the same reason keeps all of them open."""
    whys = {one.why for one in verdicts}
    if len(verdicts) == 1 or len(whys) > 1 or not whys <= _OF_PEOPLE:
        return ""
    first = verdicts[0]
    everybody = f"any of the {len(verdicts)} judges"
    return _sentence(table, everybody, first.trust, first.why, first.found)


def _advice(table: ScaleTable, verdicts: Sequence[ScaleVerdict]) -> str:
    """What to do about a class that hardly anybody gave; labels of steps can only become more."""
    if table.scale.is_graded or all(one.why != "rare_label" for one in verdicts):
        return ""
    return (
        f"If “{table.rarest}” is no judgment, leave these answers out: --missing "
        f"{quoted(table.rarest)}. Or count labels together, as one of two: --positive LABEL,LABEL."
    )


def _p(test: PooledReplacement) -> float | None:
    if test.raw.p is None or test.balanced.p is None:
        return None
    return max(test.raw.p, test.balanced.p)


def _verdict(
    table: ScaleTable,
    judge: str,
    test: PooledReplacement,
    p: float | None,
    right: RightLabels | None,
    holds_from: float | None,
    among: int,
) -> ScaleVerdict:
    trust, why = _decided(test, p)
    settled = trust is not Trust.INCONCLUSIVE
    reference = table.gold
    if (reference < 0).all():
        reference = majority_vote(table.votes).answer
    choice = table.judges[judge]
    has_ends = p is not None and not why
    return ScaleVerdict(
        judge=judge,
        trust=trust,
        sentence=_sentence(table, judge, trust, why, test),
        why=why,
        found=test,
        p=p,
        holds_from=holds_from if has_ends else None,
        holds_below=max(getattr(test, side).advantage.interval.low for side in _SIDES)
        if has_ends
        else None,
        kappa=_mean_of(_with_people(table, choice)),
        classes=class_agreement(reference, choice, n_options=len(table.scale.names)),
        labels_needed=0
        if settled
        else _more(test, why, table.votes.n, among, is_graded=table.scale.is_graded),
        right=right,
        shift=None,
        tier=None,
    )


def _decided(test: PooledReplacement, p: float | None) -> tuple[Trust, str]:
    if not test.n:
        return Trust.INCONCLUSIVE, "no_pairs"
    is_same = (test.same_label or 0) > ONE_LABEL
    if test.rarest < FEWEST_OF_A_LABEL:
        return Trust.INCONCLUSIVE, "one_label" if is_same else "rare_label"
    ends = [getattr(test, side).advantage.interval for side in _SIDES]
    if p is None or None in ends:
        return Trust.INCONCLUSIVE, "one_label" if is_same else "clusters"
    if any(interval.low > test.epsilon for interval in ends):
        return Trust.NOT_TRUSTED, "one_label" if is_same else ""
    if is_same or p > LEVEL:
        return Trust.INCONCLUSIVE, "one_label" if is_same else ""
    if test.gain_low is None or test.gain_low <= 0:
        return Trust.INCONCLUSIVE, "order"
    return Trust.TRUSTED, ""


def _sentence(
    table: ScaleTable, judge: str, trust: Trust, why: str, test: PooledReplacement
) -> str:
    could = clause("{judge} could replace an annotator", judge=Name(judge))
    open_ = str(capitalised(not_settled(could)))
    if why == "no_pairs":
        return f"{open_}: no item has two labels of people and one of {judge}."
    if why == "rare_label":
        name = "" if table.scale.is_graded else f", “{table.rarest}”,"
        return (
            f"{open_}: the rarest label{name} has {number_of(test.rarest, 'answer')}, and at "
            f"least {FEWEST_OF_A_LABEL} are needed."
        )
    if why == "clusters":
        why_none = test.raw.advantage.interval_reason or "too_few_of_a_label"
        votes = table.votes
        fewest = max(FEWEST_ANNOTATORS, ANNOTATORS_PER_ANSWER * votes.n / votes.n_items)
        if why_none == "too_few_annotators" and (n := votes.n_annotators) < fewest:
            return f"{open_}: {number_of(n, 'person')} {'is' if n == 1 else 'are'} too few."
        return f"{open_}: {reason(why_none)}."
    if why == "one_label":
        share = percent(test.same_label)
        return f"{judge} gives the same label to {share} of the items, so it decides nothing."
    if why == "order" and table.scale.is_graded:
        return (
            f"{open_}: its labels are not shown to gain over half as much as a person’s over "
            f"their own random order ({points(test.gain.value)} points; a person’s "
            f"{points(test.people_gain)})."
        )
    if why == "order":
        return f"{open_}: its own labels in random order agree with people about as often."
    words = {
        Trust.TRUSTED: str(could),
        Trust.NOT_TRUSTED: f"{judge} could not replace an annotator",
        Trust.INCONCLUSIVE: open_,
    }[trust]
    return f"{words}: {_lost(test)}."


def _lost(test: PooledReplacement) -> str:
    side, ends = test.worse, test.advantage.interval
    alike = ", with all labels weighted equally," if side is test.balanced else ""
    interval = f", 95\u00a0% CI {points_range((ends.low, ends.high))}" if ends else ""
    return (
        f"its agreement with people{alike} is {percent(side.model)}, and a person’s is "
        f"{percent(side.people)} (a person’s advantage {points(test.advantage.value)} points"
        f"{interval}; ε is {test.epsilon * 100:g})"
    )


def _holds_from(judges: Iterable[str], bound: Callable[[str, float], float]) -> dict[str, float]:
    """The ε from which each judge passes Holm's method, as ε grows: one judge after another.

    `bound` is the ε from which a judge passes at a level.
    """
    left, least = {*judges}, -1.0
    holds: dict[str, float] = {}
    while left:
        bounds = {judge: bound(judge, LEVEL / len(left)) for judge in left}
        judge = min(bounds, key=bounds.__getitem__)
        holds[judge] = least = max(least, bounds[judge])
        left.remove(judge)
    return holds


def _lost_at_most(test: PooledReplacement) -> float:
    """The upper end of what people agree better by, on the worse of both scales."""
    ends = [getattr(test, side).advantage.interval for side in _SIDES]
    return max(end.high for end in ends if end)


def _more(
    test: PooledReplacement, why: str, labels: int, among: int, *, is_graded: bool
) -> int | None:
    """Labels still needed if the observed shares are true and everything grows together.

    A yes shares its level among the judges that Holm's method does not accept before.
    """
    if why == "rare_label" and test.rarest and is_graded:
        return math.ceil(labels * (FEWEST_OF_A_LABEL / test.rarest - 1))
    if why:
        return None
    gap, se = test.epsilon - (test.advantage.value or 0), test.worse.se
    if not gap or not se:
        return None
    quantile = NormalDist().inv_cdf
    level = LEVEL / among if gap > 0 else LEVEL / 2
    times = ((quantile(1 - level) + quantile(POWER)) * se / gap) ** 2
    return math.ceil(labels * max(times - 1, 0.1)) if times < 1000 else None


def _references(table: ScaleTable, test: PooledReplacement) -> list[TrivialJudge]:
    counts = table.votes.counts()[table.paired]
    if not len(counts):
        return []
    share = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)
    constant = (
        table.answers.agreement * share @ table.answers.label
    )  # of a judge that says only this
    part = share @ table.answers.label
    occurs = part > 0
    raw, balanced = constant.sum(axis=1), (constant[:, occurs] / part[occurs]).mean(axis=1)
    most, offered = int(share.argmax()), share > 0
    judges = [
        TrivialJudge("commonest label", float(raw[most]), float(balanced[most])),
        TrivialJudge("coin", float(raw[offered].mean()), float(balanced[offered].mean())),
    ]
    people = (test.raw.people, test.balanced.people)
    if people[0] is not None and people[1] is not None:
        judges.append(TrivialJudge("another person", people[0], people[1]))
    return judges


def _coefficients(
    table: ScaleTable, pairs: Sequence[tuple[str, str, int, float | None]]
) -> list[tuple[str, float | None, str]]:
    counts, matrix = table.votes.counts(), table.matrix
    level = table.scale.level
    alpha = krippendorff_alpha(counts, metric=_METRICS[level], values=table.scale.values)
    gwet = gwet_ac(counts, weights=table.answers.agreement)
    weighted = "weighted kappa" if table.scale.is_graded else "Cohen’s kappa"
    kappa = _mean_of(kappa for *_, kappa in pairs)
    few = f"no two people share {FEWEST_SHARED} items"
    numbers = [
        (f"Krippendorff’s alpha ({_METRICS[level]})", alpha.value, reason(alpha.reason)),
        ("AC2" if table.scale.is_graded else "AC1", gwet.value, reason(gwet.reason)),
        (f"{weighted}, mean over pairs of people", kappa, few),
    ]
    if table.scale.is_graded:
        values = np.asarray(table.scale.values)
        icc = intraclass_correlation(np.where(matrix >= 0, values[matrix], np.nan))
        why = _why_no_icc(icc)
        numbers += [("ICC(2,1), one person", icc.single, why)]
        numbers += [(f"ICC(2,k), mean of {icc.n_raters} people", icc.mean, why)]
    return numbers


def _why_no_icc(icc: IntraclassCorrelation) -> str:
    if icc.reason == "too_few_items":
        return "needs items that the same people all labelled"
    return reason(icc.reason)


def _mean_of(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _with_people(table: ScaleTable, choice: IntArray) -> Iterator[float | None]:
    """Kappa of a judge with each person who shares enough items."""
    for person in table.matrix.T:
        if ((choice >= 0) & (person >= 0)).sum() >= FEWEST_SHARED:
            yield weighted_kappa(choice, person, table.answers.agreement).value


def _pairs(table: ScaleTable) -> list[tuple[str, str, int, float | None]]:
    """Each two people with enough items in common, those with the most first."""
    votes, matrix = table.votes, table.matrix
    cells = (np.ones(votes.n), (votes.item, votes.annotator))
    has = sparse.csr_array(cells, shape=(votes.n_items, votes.n_annotators))
    shared = sparse.triu(has.T @ has, k=1).tocoo()
    pairs = []
    for one, other, n in zip(shared.row, shared.col, shared.data, strict=True):
        if n >= FEWEST_SHARED:
            kappa = weighted_kappa(matrix[:, one], matrix[:, other], table.answers.agreement).value
            pairs.append((table.raters[one], table.raters[other], int(n), kappa))
    return sorted(pairs, key=lambda pair: (-pair[2], pair[:2]))


def _caveats(
    labels: LabelTable, scale: LabelScale, these_people: bool, verdicts: Sequence[ScaleVerdict]
) -> list[str]:
    sentences = ["Agreement is not accuracy: people can agree and be wrong."]
    if labels.gold:
        sentences.append(
            "The right labels say who is right more often, and give recall and precision. The "
            "verdict is about agreement with people."
        )
    if scale.is_graded:
        sentences.append(
            "Agreement is 100 % for equal labels, 75 % for half of the scale apart, and 0 % for "
            "its two ends. Labels in the middle are never far off, so a judge must also gain over "
            "half as much as a person over their own labels in random order."
        )
    ends = verdicts[0].found.advantage.interval
    if ends and ends.note:
        sentences.append(f"{ends.note[:1].upper()}{ends.note[1:]}: others may differ.")
    if any(one.tier for one in verdicts):
        sentences.append(
            "Tiers: z is how far a judge’s mean Cohen’s kappa with people is from theirs with each "
            "other, in standard deviations of people. “Human-like” is a z from −1 to 1, "
            "“super-consistent” above, “below human” below, for these people. Pairs need 30 items "
            "in common."
        )
    if any(label.certainty is not None for label in labels.labels):
        sentences.append("Certainties are not used.")
    if these_people:
        sentences.append("It holds for items like these and for these people alone.")
    elif any(one.found.raw.advantage.interval_reason == "too_few_annotators" for one in verdicts):
        sentences.append("If only these people matter, such as a panel of experts: --these-people.")
    if len(verdicts) > 1:
        sentences.append(f"{len(verdicts)} judges: p values are adjusted by Holm’s method.")
    return sentences
