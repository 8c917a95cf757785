"""Report chapter on items asked about a persona and its twin with one attribute changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.verdicts import Ints, run_votes
from analysis.report.quantities import Name, Population, clause
from analysis.report.report_json import Json, put, tested
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import claim_p
from analysis.report.study import ReportedStudy, identity, put_holm
from analysis.report.tables import Table, table_of_entries
from analysis.report.tested import ReportedTest
from analysis.report.words import run_name
from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import FloatArray
from analysis.stats.core.shared_variance import ANNOTATOR, SharedKind, Sharing
from extras.personas.changed_items import SOURCE
from studies.importers.items.twins import key_with


@dataclass(frozen=True)
class Reliance:
    """How far the answers shift between an item and its changed twin.

    Attributes
    ----------
    n : int
        Pairs of items that count.
    squared : GeneralDifference
        Mean squared shift of a response's share, minus the part due to chance. Without a shift it
        can be below 0.
    shift : float or None
        Its square root, in shares; 0 if `squared` is below 0.
    """

    n: int
    squared: GeneralDifference
    shift: float | None


def squared_shifts(
    before: npt.ArrayLike, after: npt.ArrayLike, *, has_chance: bool = True
) -> FloatArray:
    r"""The squared shift of each pair of items, corrected for chance.

    Parameters
    ----------
    before, after : array_like of int, shape (n_pairs, n_options)
        Answers to the original item and to its changed twin, by option.
    has_chance : bool, default True
        Whether repeated answers to the same item could differ. If False, one answer is enough.

    Returns
    -------
    ndarray of float, shape (n_pairs,)
        NaN if either item has fewer than two answers (with `has_chance` False, none).

    Raises
    ------
    ValueError
        If the shapes differ.

    Notes
    -----
    With shares p of k answers and q of m,
    :math:`\frac12\sum_o[(p_o-q_o)^2-\frac{p_o(1-p_o)}{k-1}-\frac{q_o(1-q_o)}{m-1}]`. Its expected
    value is :math:`\frac12\sum_o(p_o-q_o)^2` of the shares among all answers: with two options the
    squared difference of the shares of a response. It is also how much more often two answers
    differ across twins than within them.

    Examples
    --------
    >>> squared_shifts([[3, 0], [2, 1]], [[0, 3], [2, 1]]).round(3).tolist()
    [1.0, -0.222]
    """
    one, two = (np.asarray(counts, dtype=np.float64) for counts in (before, after))
    if one.shape != two.shape or one.ndim != 2:
        raise ValueError(f"`before` and `after` differ in shape: {one.shape}, {two.shape}.")
    k, m = one.sum(axis=1), two.sum(axis=1)
    fewest = 2 if has_chance else 1
    known = (k >= fewest) & (m >= fewest)
    p, q = one / np.maximum(k, 1)[:, None], two / np.maximum(m, 1)[:, None]
    squared = ((p - q) ** 2).sum(axis=1)
    if has_chance:
        squared -= (p * (1 - p)).sum(axis=1) / np.maximum(k - 1, 1)
        squared -= (q * (1 - q)).sum(axis=1) / np.maximum(m - 1, 1)
    return np.where(known, squared / 2, np.nan)


def reliance(shifts: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95) -> Reliance:
    """The mean of `squared_shifts`, allowing for what pairs share.

    Parameters
    ----------
    shifts : array_like of float, shape (n_pairs,)
        NaN is left out.
    sharing : Sharing
        What the pairs share: personas, questions, annotators of either twin.
    level : float, default 0.95

    Returns
    -------
    Reliance
        To compare two sides, apply `general_difference` to the difference of their shifts.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = reliance([0.25, 0.25, -0.05, -0.05] * 10, sharing)
    >>> found.n, round(found.squared.value, 3), round(found.shift, 3)
    (40, 0.1, 0.316)
    """
    values = np.asarray(shifts, dtype=np.float64)
    squared = general_difference(values, sharing, level=level)
    shift = None if squared.value is None else sqrt(max(0.0, squared.value))
    return Reliance(int((~np.isnan(values)).sum()), squared, shift)


KIND = "features of counterfactual personas"  # of claims


@dataclass(frozen=True, eq=False)
class Twins:
    """Positions of items and their changed twins, and what the pairs share."""

    before: Ints
    after: Ints
    by_people: Sharing
    judged: Sharing

    @classmethod
    def of(cls, study: ReportedStudy, mark: str, *, of_others: bool = False) -> "Twins":
        """Pair items with the twins that have `mark`; `of_others` if these are about others."""
        position = {item.key: at for at, item in enumerate(study.data.items)}
        pairs = [
            (at, position[twin])
            for key, at in position.items()
            if (twin := key_with(key, mark)) in position
        ]
        before, after = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
        n, rows, shared, votes = len(pairs), np.arange(len(pairs)), study.shared, study.votes
        persona = shared.persona[before]
        owners = SharedKind.of(rows, persona, n)
        if of_others:
            both = np.concatenate([persona, shared.persona[after]])
            owners = SharedKind.of(np.tile(rows, 2), both, n)
        kinds = {
            "persona": owners,
            "question": SharedKind.of(rows, shared.question[before], n),
        }
        pair_of = np.full(len(position), -1, dtype=np.int64)
        pair_of[before] = pair_of[after] = rows
        own = pair_of[votes.item] >= 0
        people = SharedKind.of(pair_of[votes.item][own], votes.annotator[own], n)
        return cls(before, after, Sharing.of(n, {ANNOTATOR: people} | kinds), Sharing.of(n, kinds))


def _attribute(study: ReportedStudy, changed: Mapping[str, Any]) -> Json:
    """How far people's and each run's answers shift with one attribute."""
    twins = Twins.of(study, changed["mark"])
    counts = study.votes.counts()
    people = squared_shifts(counts[twins.before], counts[twins.after])
    judges = []
    for run in study.data.runs:
        readings = run_votes(study.data, run).counts()
        # With one reading each, chance cannot be separated from the change.
        has_chance = bool((readings.sum(axis=1) > 1).any())
        shifts = squared_shifts(
            readings[twins.before], readings[twins.after], has_chance=has_chance
        )
        gap = general_difference(shifts - people, twins.by_people)
        beyond = {"n": gap.n} | tested(gap)
        entry = _side(shifts, twins.judged) | {"contains_chance": not has_chance}
        judges.append(identity(run) | entry | {"beyond_people": beyond})
    return {
        "feature": changed["feature"],
        "label": changed["label"],
        "pairs": int(twins.before.size),
        "people": _side(people, twins.by_people),
        "judges": judges,
    }


def _side(shifts: FloatArray, sharing: Sharing) -> Json:
    shift = reliance(shifts, sharing)
    out: Json = {"n": shift.n} | {"squared": tested(shift.squared)}
    put(out, "shift", shift.shift, shift.squared.reason)
    return out


def counterfactual_table(report: ReportJson) -> Table:
    attributes = report.get("bias", {}).get(SOURCE, {}).get("attributes", [])
    rows = []
    for attribute in attributes:
        before = f"{attribute['label']}: " if len(attributes) > 1 else ""
        none = {"beyond_people": {"value": None, "ci": None, "p_holm": None}, "chance": ""}
        rows.append((f"{before}People", none | attribute["people"]))
        rows += [
            (
                before + run_name(entry, attribute["judges"]),
                entry | {"chance": "yes" if entry["contains_chance"] else "no"},
            )
            for entry in attribute["judges"]
        ]
    labels = [attribute["label"] for attribute in attributes]
    label = labels[0] if len(labels) == 1 else "attribute"
    title = f"How much answers change with {' or '.join(labels)}"
    return table_of_entries(
        "counterfactual",
        title,
        rows,
        [
            ("Pairs", "count", "n"),
            ("Typical shift", "percent", "shift"),
            ("Estimate", "decimal", "squared.value", "Squared shift"),
            ("95 % interval", "range", "squared.ci", "Squared shift"),
            ("With chance", "text", "chance"),
            ("Difference", "decimal", "beyond_people.value", "More than people"),
            ("95 % interval", "range", "beyond_people.ci", "More than people"),
            ("Holm p", "p", "beyond_people.p_holm", "More than people"),
        ],
        f"Each item is asked about its persona and about the same persona with another {label}. "
        "Squared shift: the squared difference of a response’s share between the two, minus the "
        "part due to chance; 0 if nobody uses the attribute. Typical shift: its square root. "
        "With chance: the run read each item once, so random flips count as a shift. The right "
        "answers for the changed persona are not known, so reliance is not in itself an error. "
        "A judge that relies on an attribute more than people do may follow a stereotype.",
        first="Who",
    )


class Counterfactual(Section):
    """Reliance of people and judges on an attribute that is changed."""

    name = "counterfactual"
    title = "Counterfactual personas"
    inside = "How far answers shift when one attribute of the persona changes"
    has_claims = True
    keys = """
        # Counterfactual personas
        bias.counterfactual | object | Answers to the same items about changed personas.
        bias.counterfactual.attributes | list | Each attribute that was changed.
        bias.counterfactual.attributes.feature | text | The attribute.
        contains_chance | flag | Whether chance alone is part of the shift.
        bias.counterfactual.from | text | The study whose personas were changed.
    """

    def is_needed(self, report: ReportJson) -> bool:
        return SOURCE in report.get("bias", {})

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty for a study without changed twins."""
        source: Mapping[str, Any] | None = study.data.study.source.get(SOURCE)
        keys = {item.key for item in study.data.items}
        changed = [
            feature
            for feature in (source["features"] if source is not None else ())
            if any(key_with(key, feature["mark"]) in keys for key in keys)
        ]
        if source is None or not changed:
            return {}
        attributes = [_attribute(study, feature) for feature in changed]
        tests = [
            judge["beyond_people"] for attribute in attributes for judge in attribute["judges"]
        ]
        put_holm(tests)
        return {"bias": {SOURCE: {"from": source["from"], "attributes": attributes}}}

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        attributes = report.get("bias", {}).get(SOURCE, {}).get("attributes", ())
        tests = [
            judge["beyond_people"] for attribute in attributes for judge in attribute["judges"]
        ]
        return {KIND: [claim_p(test) for test in tests]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield counterfactual_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        attributes = report.get("bias", {}).get(SOURCE, {}).get("attributes", ())
        for place, attribute in enumerate(attributes):
            path = f"bias.{SOURCE}.attributes.{place}"
            for at, entry in enumerate(attribute["judges"]):
                beyond, there = entry["beyond_people"], f"{path}.judges.{at}.beyond_people"
                of = Population(
                    "pair of items",
                    "that both answered",
                    beyond["n"],
                    attribute["pairs"],
                    f"{there}.n",
                    f"{path}.pairs",
                )
                words = {
                    "who": Name(run_name(entry, attribute["judges"])),
                    "label": Name(attribute["label"]),
                }
                test = ReportedTest.at(report, KIND, beyond, there, of, unit="coefficient")
                text = test.sentence(
                    clause("{who} relies on {label} more than people do", **words),
                    clause("{who} relies on {label} less than people do", **words),
                    whether=clause("{who} relies on {label} more or less than people do", **words),
                    number="squared shifts that differ by {x}",
                )
                yield Sentence("finding", text)


CHAPTER = Counterfactual()
