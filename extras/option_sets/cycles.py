"""Whether choices are consistent: in both orders, and among three or more responses."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import RunData
from analysis.data.verdicts import Ints
from analysis.report.quantities import Name, Population, Quantity, QuantityInterval, say
from analysis.report.report_json import Json, cell, undefined
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import run_name
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.comparison.probes import agreed
from analysis.stats.core.results import FloatArray, IntArray, Proportion
from analysis.stats.core.shared_variance import Sharing
from extras.option_sets.sets import OptionSets, RankedSets

TIE = 2
MOST_EXACT = 6  # up to this many responses, all 4,683 weak orders are tried


@dataclass(frozen=True)
class Transitivity:
    """Consistency of choices within sets of responses.

    Attributes
    ----------
    n_sets : int
        Sets with at least one triple whose three pairs are all decided.
    cyclic : Proportion
        Triples without a tie whose choices form a cycle, out of all triples without a tie. Random
        choices give one quarter.
    intransitive : Proportion
        Triples that fit no ranking with ties, out of all triples with three decisions.
    pairs : int
        Decided pairs in these sets.
    edits : int
        Fewest decisions to change so that each set fits a ranking with ties.
    n_bounded : int
        Sets of more than six responses, for which `edits` counts an upper bound.
    """

    n_sets: int
    cyclic: Proportion
    intransitive: Proportion
    pairs: int
    edits: int
    n_bounded: int


def preferences(first: npt.ArrayLike, second: npt.ArrayLike, choice: npt.ArrayLike) -> FloatArray:
    """The decisions of a set as a table; NaN for an undecided pair.

    Parameters
    ----------
    first, second : array_like of int, shape (n_items,)
        The responses of each item, numbered from 0.
    choice : array_like of int, shape (n_items,)
        0 the first, 1 the second, 2 a tie, -1 missing. A pair asked several times counts by its
        majority, or as a tie without one.

    Returns
    -------
    ndarray of float, shape (n_responses, n_responses)
        1 if the row is preferred to the column, -1 for the reverse, 0 for a tie.
    """
    one, two, chosen = (np.asarray(column, dtype=np.int64) for column in (first, second, choice))
    n = int(max(one.max(initial=-1), two.max(initial=-1))) + 1
    total, asked = np.zeros((n, n)), np.zeros((n, n))
    for a, b, c in zip(one.tolist(), two.tolist(), chosen.tolist(), strict=True):
        if c >= 0 and a != b:
            sign = 0 if c == TIE else 1 if c == 0 else -1
            total[a, b] += sign
            total[b, a] -= sign
            asked[a, b] += 1
            asked[b, a] += 1
    return np.where(asked > 0, np.sign(total), np.nan)


def fewest_edits(table: FloatArray) -> tuple[int, bool]:
    """The fewest decisions to change so that a table fits a ranking with ties, and if it is exact.

    For up to six responses all rankings are tried. For more, responses are ranked by wins and moved
    one at a time while that helps, which gives an upper bound.

    Examples
    --------
    >>> cycle = preferences([0, 1, 2], [1, 2, 0], [0, 0, 0])
    >>> fewest_edits(cycle)
    (1, True)
    """
    n = len(table)
    rows, columns = np.triu_indices(n, 1)
    known = ~np.isnan(table[rows, columns])
    rows, columns = rows[known], columns[known]
    wanted = table[rows, columns]
    if n <= MOST_EXACT:
        orders = _weak_orders(n)
        signs = np.sign(orders[:, columns] - orders[:, rows])
        return int((signs != wanted).sum(axis=1).min(initial=wanted.size)), True
    wins = np.nansum(table, axis=1)
    start = np.argsort(np.argsort(-wins, kind="stable")) * 2

    def edits(order: IntArray) -> int:
        return int((np.sign(order[columns] - order[rows]) != wanted).sum())

    ranks: IntArray = start.astype(np.int64)
    best, improved = edits(ranks), True
    while improved:
        improved = False
        for at, place in product(range(n), np.arange(-1, 2 * n)):
            moved = ranks.copy()
            moved[at] = place
            if (n_edits := edits(moved)) < best:
                # Even places again, so that there is one between any two.
                dense = np.unique(moved, return_inverse=True)[1]
                ranks, best, improved = dense.astype(np.int64) * 2, n_edits, True
    return best, False


@cache
def _weak_orders(n: int) -> IntArray:
    """All rankings of n responses with ties: the rank of each, without gaps."""
    orders = [
        ranks
        for ranks in product(range(max(n, 1)), repeat=n)
        if len(set(ranks)) == max(ranks, default=-1) + 1
    ]
    return np.array(orders, dtype=np.int64).reshape(-1, n)


def transitivity(
    of_item: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    choice: npt.ArrayLike,
    clusters: dict[str, IntArray],
    *,
    level: float = 0.95,
) -> Transitivity:
    """Cycles among three responses, and the decisions to change for a ranking.

    Parameters
    ----------
    of_item : array_like of int, shape (n_items,)
        The set of each item; -1 without one.
    first, second, choice : array_like of int, shape (n_items,)
        As for `preferences`, numbered within each set.
    clusters : dict of str to ndarray of int, each of shape (n_items,)
        What the items of sets share, such as personas and questions; equal within a set.
    level : float, default 0.95

    Returns
    -------
    Transitivity
        Intervals treat the sets and `clusters` as samples, because triples of a set share pairs.

    References
    ----------
    .. [1] Sage, "Are We on the Right Way to Assessing LLM-as-a-Judge?", arXiv 2512.16041.

    Examples
    --------
    >>> sets, one, two = np.repeat(np.arange(40), 3), [0, 1, 0] * 40, [1, 2, 2] * 40
    >>> choice = [0, 0, 0] * 30 + [0, 0, 1] * 10
    >>> found = transitivity(sets, one, two, choice, {})
    >>> found.cyclic.value, found.edits, found.pairs
    (0.25, 10, 120)
    """
    sets, one, two, chosen = (
        np.asarray(column, dtype=np.int64) for column in (of_item, first, second, choice)
    )
    owner, cyclic, strict, intransitive = [], [], [], []
    pairs = edits = n_bounded = n_sets = 0
    order = np.argsort(sets, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(sets[order])) + 1):
        if not rows.size or sets[rows[0]] < 0:
            continue
        table = preferences(one[rows], two[rows], chosen[rows])
        triples = _triples(table)
        if not triples:
            continue
        n_sets += 1
        owner += [int(rows[0])] * len(triples)
        for is_strict, is_cyclic, fits in triples:
            strict.append(is_strict)
            cyclic.append(is_cyclic)
            intransitive.append(not fits)
        pairs += int((~np.isnan(table)).sum()) // 2
        fewest, is_exact = fewest_edits(table)
        edits += fewest
        n_bounded += not is_exact
    at = np.array(owner, dtype=np.int64)
    kinds = {"set": sets[at]} | {name: codes[at] for name, codes in clusters.items()}
    sharing = Sharing.of_items(at.size, kinds)
    without_tie = np.array(strict, dtype=np.bool_)
    return Transitivity(
        n_sets,
        general_proportion(
            np.array(cyclic, dtype=np.bool_)[without_tie], sharing.take(without_tie), level=level
        ),
        general_proportion(np.array(intransitive, dtype=np.bool_), sharing, level=level),
        pairs,
        edits,
        n_bounded,
    )


def _triples(table: FloatArray) -> list[tuple[bool, bool, bool]]:
    """For each decided triple: whether it has no tie, is a cycle, fits a ranking with ties."""
    triples = []
    for a, b, c in combinations(range(len(table)), 3):
        signs = np.array([table[a, b], table[b, c], table[c, a]])
        if np.isnan(signs).any():
            continue
        is_strict, is_cyclic = bool((signs != 0).all()), bool(abs(signs.sum()) == 3)
        # Around a ranking with ties there are steps both up and down, or no step at all.
        fits = bool((signs > 0).any() == (signs < 0).any())
        triples.append((is_strict, is_cyclic, fits))
    return triples


BOTH = "both"


def _orders(study: ReportedStudy, run: RunData) -> Json:
    """The share of items with different choices in the two orders."""
    rows = run.judgments
    n = len(study.data.items)
    choice, first = rows.choice.astype(np.int64), rows.shown_first.astype(np.int64)
    verdict = agreed(choice, rows.item, first, n)
    items = np.flatnonzero(verdict >= 0)
    differs = verdict[items] == TIE
    return cell(general_proportion(differs, study.shared.judged.take(items)), "value")


def _triples_of_side(study: ReportedStudy, answer: Ints) -> Json:
    sets = study.data.of(OptionSets)
    assert sets is not None  # noqa: S101 - there are sets
    clusters = {"persona": study.shared.persona, "question": study.shared.question}
    cycles = transitivity(sets.of_item, sets.first, sets.second, answer, clusters)
    return {
        "sets": cycles.n_sets,
        "pairs": cycles.pairs,
        "cyclic": cell(cycles.cyclic, "value"),
        "intransitive": cell(cycles.intransitive, "value"),
        "edits": cycles.edits,
        "bounded": cycles.n_bounded,
    }


def consistency_table(report: ReportJson) -> Table:
    chapter = report["consistency"]
    sides = [("People, majority", chapter["people"])]
    sides += [(run_name(entry, chapter["judges"]), entry) for entry in chapter["judges"]]
    rows = [
        (who, {"orders": {"value": None, "ci": None}, **entry})
        for who, entry in sides
        if entry["sets"]
    ]
    return table_of_entries(
        "consistency",
        "Whether choices fit a ranking of the responses",
        rows,
        [
            ("Questions", "count", "sets"),
            ("Pairs", "count", "pairs"),
            ("n", "count", "cyclic.n", "Cycles of three"),
            ("Share", "percent", "cyclic.value", "Cycles of three"),
            ("95 % interval", "percent_range", "cyclic.ci", "Cycles of three"),
            ("n", "count", "intransitive.n", "Triples that fit no ranking with ties"),
            ("Share", "percent", "intransitive.value", "Triples that fit no ranking with ties"),
            ("95 %", "percent_range", "intransitive.ci", "Triples that fit no ranking with ties"),
            ("Decisions to change", "count", "edits"),
            ("Questions with a bound", "count", "bounded"),
            ("Share", "percent", "orders.value", "Orders disagree"),
            ("95 % interval", "percent_range", "orders.ci", "Orders disagree"),
        ],
        "Questions of one persona with at least three responses that are compared with each other. "
        "Cycle: one response is preferred to a second, the second to a third, and the third to the "
        "first; a quarter of random choices are cycles. Decisions to change: the fewest for the "
        "pairs of every question to fit a ranking with ties; an upper bound for questions with "
        "more than six responses. A judge that ranks a whole set cannot make a cycle and has no "
        "share. Cycles in people’s majority can come from disagreement between people.",
        first="Who",
    )


class Consistency(Section):
    """Cycles of choices, and choices that depend on the order."""

    name = "consistency"
    keys = """
        # Cycles of choices
        consistency | object | Whether choices within a set of responses contradict each other.
        cyclic | object | Cycles of three choices.
        intransitive | object | Triples that fit no ranking with ties.
        edits | count | Choices to change until a ranking fits.
        bounded | count | Sets of more than six responses, for which `edits` is an upper bound.
        consistency.judges.orders | object | The same in both orders.
    """

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty without sets of three responses.

        Without such sets, the table of positions shows how both orders agree.
        """
        if study.data.of(OptionSets) is None:
            return {}
        judges = []
        ranked = study.data.of(RankedSets)
        for run, judge in zip(study.data.runs, study.judges, strict=True):
            entry = identity(run) | _triples_of_side(study, judge.answer)
            if run.setting == "listwise" or (ranked is not None and run.run in ranked.rankings):
                # A reply ranks the whole set, which never has a cycle, so 0 % would say nothing.
                none = {"n": 0, "correct": 0} | undefined("one_order", "value", "ci")
                entry |= {"cyclic": none, "intransitive": dict(none)}
                entry |= undefined("one_order", "edits", "bounded")
            if run.orders == BOTH:
                entry["orders"] = _orders(study, run)
            judges.append(entry)
        return {
            "consistency": {
                "people": _triples_of_side(study, study.people.answer),
                "judges": judges,
            }
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "consistency" in report:
            yield consistency_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        judges = report.get("consistency", {"judges": []})["judges"]
        for place, entry in enumerate(judges):
            cyclic, path = entry["cyclic"], f"consistency.judges.{place}.cyclic"
            if cyclic["n"] and cyclic["ci"] is not None:
                of = Population("triple of responses", n=cyclic["n"], path=f"{path}.n")
                interval = QuantityInterval.at(cyclic, "ci", path)
                words = say(
                    "{who}: {x} of {x.of} are cycles ({x.interval}; random choices: {chance}).",
                    who=Name(run_name(entry, judges)),
                    x=Quantity("share", of, cyclic["value"], f"{path}.value", interval),
                    chance=Quantity("part", None, 0.25),
                )
                yield Sentence("finding", words)
