"""Sets of options: how judges and people rank whole sets, and what pairs of a set share."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from analysis.data.verdicts import Ints
from analysis.report.report_json import Json, cell, estimate, put, put_interval
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import number_of, run_name
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.core.multiway import multiway_mean
from analysis.stats.core.proportions import wilson_proportion
from analysis.stats.core.results import Proportion, Reason
from analysis.stats.core.shared_variance import ANNOTATOR, Sharing
from extras.option_sets.cycles import Consistency
from extras.option_sets.sets import Ranked, RankedSets

LEAST_EXPECTED = 5.0  # expected first places at every position, for the chi-squared test


@dataclass(frozen=True)
class FirstPlaces:
    """Positions of the options ranked first.

    Attributes
    ----------
    n : int
        Lists.
    first, last : Proportion
        Share of lists whose option at the first, and at the last, position was ranked first.
    chance : float or None
        Expected share at any position: the mean of one over the length.
    p : float or None
        Of the test that every position is equally likely; None if there is a `p_reason`.
    df : int
        Its degrees of freedom.
    reason : str or None
        Why there is no `chance`: ``"empty_group"``.
    p_reason : str or None
        Why there is no test: ``"empty_group"``, or ``"too_few_items"`` if some length has fewer
        than five expected first places at a position.
    """

    n: int
    first: Proportion
    last: Proportion
    chance: float | None
    p: float | None
    df: int
    reason: Reason | None
    p_reason: Reason | None


def first_places(position: npt.ArrayLike, length: npt.ArrayLike) -> FirstPlaces:
    r"""Compare positions of first-ranked options with equal shares.

    Parameters
    ----------
    position : array_like of int, shape (n_lists,)
        Position, from 0, of the option that was ranked first.
    length : array_like of int, shape (n_lists,)
        Number of options of each list, at least 2.

    Returns
    -------
    FirstPlaces

    Notes
    -----
    The orders must have been drawn at random, one for each list. Then every position is equally
    likely for a judge that considers only content, whatever it prefers, and
    :math:`\sum_k\sum_j (O_{kj}-n_k/k)^2/(n_k/k)` over lengths :math:`k` and positions :math:`j` is
    about chi-squared with :math:`\sum_k (k-1)` degrees of freedom.

    Examples
    --------
    >>> found = first_places([0] * 30 + [1] * 15 + [2] * 15, [3] * 60)
    >>> found.first.value, round(found.chance, 3), found.df, round(found.p, 4)
    (0.5, 0.333, 2, 0.0235)
    """
    places, sizes = (np.asarray(values, dtype=np.int64) for values in (position, length))
    if places.shape != sizes.shape or places.ndim != 1:
        raise ValueError(f"Shapes differ: {places.shape} and {sizes.shape}.")
    if sizes.size and (sizes.min() < 2 or places.min() < 0 or (places >= sizes).any()):
        raise ValueError("`position` must be from 0 to `length` - 1, `length` at least 2.")
    first, last = (wilson_proportion(chosen) for chosen in (places == 0, places == sizes - 1))
    if not sizes.size:
        return FirstPlaces(0, first, last, None, None, 0, "empty_group", "empty_group")
    chance = float((1 / sizes).mean())
    statistic, df = 0.0, 0
    for size in np.unique(sizes):
        counts = np.bincount(places[sizes == size], minlength=int(size))
        expected = counts.sum() / size
        if expected < LEAST_EXPECTED:
            return FirstPlaces(sizes.size, first, last, chance, None, 0, None, "too_few_items")
        statistic += float(((counts - expected) ** 2 / expected).sum())
        df += int(size) - 1
    p = float(chi2.sf(statistic, df))
    return FirstPlaces(sizes.size, first, last, chance, p, df, None, None)


_LIMIT = (
    "{items} are pairs of {sets} of responses{shared}. Pairs of a set are "
    "not independent, so intervals that treat items as independent are too narrow. Use those for "
    "items, people, personas and questions in general."
)
_PLACE = "The option ranked first was"
_BY_JUDGES = ", and a judge that ranks a whole set answers all its pairs with one reply"
_BY_PEOPLE = ", and an annotator who ranks a whole set answers all its pairs at once"
_METHOD = (
    "Annotators saw all {sizes} responses of a set on one screen, in random order, and ranked "
    "them: {answers} of {sets}. Each ranking answers every pair of its set, with "
    "the certainty stated for the whole ranking."
)


def _judge(study: ReportedStudy, sets: RankedSets, replies: Sequence[Ranked], seed: int) -> Json:
    """A judge's reading of each set, and whether the other order has the same first option."""
    first = _one_reading_each(replies, seed)
    out: Json = {"sets": len(first), "replies": len(replies)}
    out |= _first_options(study, sets, first, by_people=False)
    same = _same_in_both_orders(replies)
    out["both_orders"] = {"n": same.n}
    put(out["both_orders"], "same_first", same.value, same.reason)
    if sets.people:
        of_judge = {ranked.option_set: ranked.ranking for ranked in first}
        theirs = [person for person in sets.people if person.option_set in of_judge]
        taus = [_tau(of_judge[ranked.option_set], ranked.ranking) for ranked in theirs]
        clusters = _clusters(study, sets, theirs) | {ANNOTATOR: _raters(theirs)}
        out["tau_people"] = {"n": len(taus)} | estimate(multiway_mean(taus, clusters))
    return out


def _people(study: ReportedStudy, sets: RankedSets) -> Json:
    """The rankings of annotators, and how alike two of them order the same set."""
    out: Json = {
        "sets": len({person.option_set for person in sets.people}),
        "answers": len(sets.people),
        "annotators": len({person.sample for person in sets.people}),
    }
    out |= _first_options(study, sets, sets.people, by_people=True)
    by_set: dict[int, list[Ranked]] = {}
    for person in sets.people:
        by_set.setdefault(person.option_set, []).append(person)
    pairs = [pair for orders in by_set.values() for pair in combinations(orders, 2)]
    taus = [_tau(one.ranking, other.ranking) for one, other in pairs]
    clusters = _clusters(study, sets, [one for one, _ in pairs])
    out["tau_people"] = {"n": len(taus)} | estimate(multiway_mean(taus, clusters))
    return out


def _first_options(
    study: ReportedStudy, sets: RankedSets, orders: Sequence[Ranked], *, by_people: bool
) -> Json:
    """How often the chosen option, and the one shown first or last, is ranked first."""
    out: Json = {}
    scored = [order for order in orders if sets.chosen[order.option_set] > 0]
    right = [ranked.ranking[0] == sets.chosen[ranked.option_set] for ranked in scored]
    clusters = _clusters(study, sets, scored)
    if by_people:
        clusters |= {ANNOTATOR: _raters(scored)}
    else:
        del clusters["item"]
    share = general_proportion(right, Sharing.of_items(len(right), clusters))
    out["right_first"] = cell(share, "value")
    chance = float(np.mean([1 / len(ranked.shown) for ranked in scored])) if scored else None
    put(out["right_first"], "chance", chance, "empty_group")
    places = first_places(
        [order.shown.index(order.ranking[0]) for order in orders],
        [len(order.shown) for order in orders],
    )
    out["position"] = {"n": places.n, "df": places.df}
    for name, part in (("first", places.first), ("last", places.last)):
        put(out["position"], name, part.value, part.reason)
        put_interval(out["position"], f"{name}_ci", part.interval, part.reason)
    put(out["position"], "chance", places.chance, places.reason)
    put(out["position"], "p", places.p, places.p_reason)
    return out


def _clusters(study: ReportedStudy, sets: RankedSets, orders: Sequence[Ranked]) -> dict[str, Ints]:
    """What rankings share: their set, its persona and its question."""
    codes = np.array([order.option_set for order in orders], dtype=np.int64)
    items = sets.item[codes]
    shared = study.shared
    return {"item": codes, "persona": shared.persona[items], "question": shared.question[items]}


def _raters(orders: Sequence[Ranked]) -> Ints:
    return np.array([order.sample for order in orders], dtype=np.int64)


def _tau(one: Sequence[int], other: Sequence[int]) -> float:
    """Kendall's tau of two rankings of the same options, which have no ties."""
    same = [
        (one.index(a) < one.index(b)) == (other.index(a) < other.index(b))
        for a, b in combinations(one, 2)
    ]
    return 2 * sum(same) / len(same) - 1


def _one_reading_each(replies: Sequence[Ranked], seed: int) -> list[Ranked]:
    """One reply for each set, from its first sample; a random draw chooses between two orders.

    The draw does not depend on the options, so the chosen order is as random as before.
    """
    by_set: dict[int, list[Ranked]] = {}
    for ranked in sorted(replies, key=lambda reply: (reply.sample, reply.shown)):
        of_set = by_set.setdefault(ranked.option_set, [])
        if not of_set or of_set[0].sample == ranked.sample:
            of_set.append(ranked)
    drawn = []
    for code, orders in sorted(by_set.items()):
        number = hashlib.sha256(f"{seed}|{code}".encode()).digest()[0]
        drawn.append(orders[number % len(orders)])
    return drawn


def _same_in_both_orders(replies: Sequence[Ranked]) -> Proportion:
    by_order = {(r.option_set, r.sample, r.shown): r.ranking[0] for r in replies}
    same = []
    for (code, sample, order), best in by_order.items():
        other = by_order.get((code, sample, order[::-1]))
        if order < order[::-1] and other is not None:
            same.append(best == other)
    if not same:
        return Proportion(0, 0, None, reason="empty_group")
    return Proportion(sum(same), len(same), sum(same) / len(same))


_ON_PEOPLE = ", for annotators also for people in general."


def option_sets_table(report: ReportJson) -> Table:
    entry = report["option_sets"]
    judges = [(run_name(judge, report["judges"]), judge) for judge in entry["judges"]]
    people = entry.get("people")
    # Annotators see each set in one order.
    once = {"both_orders": {"same_first": None}}
    asked = [("Annotators", people | once | {"replies": people["answers"]})] if people else []
    return table_of_entries(
        "option_sets",
        "Annotators and judges that rank whole sets" if people else "Judges that rank whole sets",
        [*asked, *judges],
        [
            ("Sets", "count", "sets"),
            ("Orders" if people else "Replies", "count", "replies"),
            ("is ranked first", "percent", "right_first.value", "The chosen response"),
            ("95 % interval", "percent_range", "right_first.ci", "The chosen response"),
            ("by chance", "percent", "right_first.chance", "The chosen response"),
            ("shown first", "percent", "position.first", _PLACE),
            ("95 % interval", "percent_range", "position.first_ci", _PLACE),
            ("shown last", "percent", "position.last", _PLACE),
            ("by chance", "percent", "position.chance", _PLACE),
            ("p", "p", "position.p", _PLACE),
            ("Same first in both orders", "percent", "both_orders.same_first"),
        ],
        "One reply of a judge about each set. Orders are random, so without a position effect "
        "every position has the option ranked first equally often (p: chi-squared test). The "
        "interval of the chosen response holds for personas and questions in general"
        + (_ON_PEOPLE if people else "."),
        first="Rater" if people else "Judge",
    )


def option_orders_table(report: ReportJson) -> Table:
    entry = report["option_sets"]
    judges = [(run_name(judge, report["judges"]), judge) for judge in entry["judges"]]
    return table_of_entries(
        "option_orders",
        "How alike the rankings of annotators and judges are",
        [("Other annotators", entry["people"]), *judges],
        [
            ("Pairs of rankings", "count", "tau_people.n"),
            ("Mean", "decimal", "tau_people.value", "Kendall’s τ"),
            ("95 % interval", "range", "tau_people.ci", "Kendall’s τ"),
        ],
        "Each annotator’s ranking is compared with others of the same set: 1 if both are the same, "
        "0 on average for unrelated rankings, -1 if one is the reverse. The intervals hold for "
        "personas and questions in general, those of judges also for people in general.",
        first="Compared with",
    )


class OptionSetsSection(Section):
    """How judges rank sets of three to five responses, and whether position matters."""

    name = "option_sets"
    title = "Sets of options"
    inside = "Rankings of whole sets, position effects, and cycles of choices"
    parts = (Consistency(),)
    keys = """
        # Sets of options
        option_sets | object | Items with more than two responses.
        sizes | object | Sets by their number of responses.
        sizes.* | count | Sets of this size.
        option_sets.rules | list | How pairs were made from sets.
        option_sets.people | object | Rankings by annotators who saw whole sets.
        option_sets.people.answers | count | Rankings that annotators gave.
        option_sets.people.annotators | count | Annotators who gave one.
        tau_people | object | Mean Kendall's tau with the rankings of annotators; n pairs of orders.
        right_first | object | Sets in which the right response is ranked first.
        right_first.chance | share | The same by chance.
        position.first | share | How often the first response is ranked first.
        position.last | share | How often the last response is ranked first.
        position.chance | share | The same by chance.
        same_first | share | Sets with the same response first in both orders.
    """

    def is_needed(self, report: ReportJson) -> bool:
        return "option_sets" in report or "consistency" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty for a study without sets."""
        sets = study.data.of(RankedSets)
        if sets is None:
            return {}
        sizes, counts = np.unique(sets.sizes, return_counts=True)
        judges = [
            identity(run) | _judge(study, sets, sets.rankings[run.run], run.seed)
            for run in study.data.runs
            if run.run in sets.rankings
        ]
        entry: Json = {
            "items": int((sets.set_of >= 0).sum()),
            "sets": int(sets.sizes.size),
            "sizes": {str(k): int(n) for k, n in zip(sizes, counts, strict=True)},
            "rules": list(sets.rules),
            "judges": judges,
        }
        if sets.people:
            entry["people"] = _people(study, sets)
        return {"option_sets": entry}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "option_sets" in report:
            yield option_sets_table(report)
            if "people" in report["option_sets"]:
                yield option_orders_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if "option_sets" not in report:
            return
        entry = report["option_sets"]
        shared = _BY_JUDGES if entry["judges"] else ""
        if people := entry.get("people"):
            shared += _BY_PEOPLE
            sizes = " or ".join(entry["sizes"])
            rankings = number_of(people["answers"], "ranking")
            ranked = number_of(people["sets"], "set")
            words = _METHOD.format(sizes=sizes, answers=rankings, sets=ranked)
            yield Sentence.of("methods", words, "option_sets.people")
        pairs, sets = number_of(entry["items"], "item"), number_of(entry["sets"], "set")
        words = _LIMIT.format(items=pairs, sets=sets, shared=shared)
        yield Sentence.of("limit", words, "option_sets")


CHAPTER = OptionSetsSection()
