"""The headline under every combination of analysis choices, to see whether it depends on them.

Data cannot decide four choices: how to treat ties, where high certainty begins, which annotators
and answers to leave out, and what varies. Options that change nothing are named but left out, so
that they do not make a finding look more robust.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import MISSING, Answers, Dataset, Floats, RunData
from analysis.data.verdicts import Ints, people_votes, run_votes
from analysis.report.report_json import Json, put, undefined
from analysis.report.rules import LEVEL, MIN_COMPARED, TOO_SMALL
from analysis.report.study import SharedClusters, asked_of_all, families, on_side
from analysis.stats.accuracy.general_accuracy import general_contrast
from analysis.stats.comparison.differences import equivalence
from analysis.stats.comparison.general_difference import (
    GeneralDifference,
    general_difference,
    why_not,
)
from analysis.stats.comparison.paired import count_pairs, mcnemar, tango_interval
from analysis.stats.core.aggregation import TiePolicy, majority_vote
from analysis.stats.core.clusters import annotator_blocks
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.shared_variance import Sharing
from analysis.stats.core.votes import Votes
from extras.choices.stats import Clusters, Contrast, paired_contrast, set_contrast, shared_people
from extras.choices.stats.contrasts import Unit

MIN_BLOCKS = 8


# Signs that an annotator did not read: too fast, or always the same side of the screen.
HASTE = 1 / 3


ONE_SIDED, SIDED_ANSWERS = 0.9, 10


TIES: Mapping[str, str] = {
    "exclude": "ties left out",
    "half": "ties count half",
    "certainty": "ties go to the more certain",
    "random": "ties broken at random",
}


EXCLUSIONS: Mapping[str, str] = {
    "as_reported": "answers as in this report",
    "with_excluded": "with excluded people",
    "without_hasty": "without hasty and one-sided people",
    "missing_wrong": "a judge's missing answers count as wrong",
}


UNITS: Mapping[str, str] = {
    "general": "items, people, personas and questions vary",
    "item": "items vary",
    "persona": "personas vary",
    "question": "questions vary",
    "people": "people vary",
}


@dataclass(frozen=True, eq=False)
class SideOfUniverse:
    """One side with ties broken one way: credit and certainty, shape (items,).

    Without ties, all ways are the same.
    """

    credit: Floats
    certainty: Floats
    has_ties: bool


@dataclass(eq=False)
class Universe:
    """Data of all specifications, computed once per option."""

    data: Dataset
    shared: SharedClusters
    seed: int
    runs: Sequence[RunData]
    common: npt.NDArray[np.bool_] | None = None  # the items that all runs were asked about
    _sides: dict[tuple[str, ...], SideOfUniverse] = field(default_factory=dict)
    _votes: dict[str, Votes] = field(default_factory=dict)
    _units: dict[tuple[str, str], Unit | Sharing | None] = field(default_factory=dict)

    def people(self, ties: str, exclusions: str) -> SideOfUniverse:
        # Exclusions of judges leave annotators unchanged.
        kept = "as_reported" if exclusions == "missing_wrong" else exclusions
        key = ("people", ties, kept)
        if ties != "exclude" and not (plain := self.people("exclude", kept)).has_ties:
            return plain
        if key not in self._sides:
            truth = self.data.scored_truth(offers_tie=self.data.study.allow_tie)
            self._sides[key] = self._side(self.votes(kept), truth, ties)
        return self._sides[key]

    def judge(self, run: RunData, ties: str, exclusions: str) -> SideOfUniverse:
        strict = exclusions == "missing_wrong"
        key = (run.run, ties, str(strict))
        if ties != "exclude" and not (plain := self.judge(run, "exclude", exclusions)).has_ties:
            return plain
        if key not in self._sides:
            truth = self.data.scored_truth(offers_tie=run.offers_tie)
            side = self._side(run_votes(self.data, run), truth, ties)
            if strict:
                asked = np.zeros(truth.size, dtype=np.bool_)
                asked[run.judgments.item] = True
                missing = asked & (truth >= 0) & np.isnan(side.credit)
                side = replace(side, credit=np.where(missing, 0.0, side.credit))
            self._sides[key] = side
        return self._sides[key]

    def unit(self, name: str, exclusions: str) -> Unit | Sharing | None:
        """The unit that varies; None if there are too few independent ones."""
        by_people = name in {"general", "people"} and exclusions != "missing_wrong"
        kept = exclusions if by_people else "as_reported"
        if (name, kept) not in self._units:
            self._units[name, kept] = self._make_unit(name, kept)
        return self._units[name, kept]

    def votes(self, kept: str) -> Votes:
        if kept not in self._votes:
            self._votes[kept] = _votes(self.data, kept)
        return self._votes[kept]

    def _side(self, votes: Votes, truth: Any, ties: str) -> SideOfUniverse:
        # The draw is between right and wrong, so that it does not depend on which response is r1.
        policy: TiePolicy = "half" if ties == "random" else ties  # type: ignore[assignment]
        majority = majority_vote(votes, ties=policy)
        credit = majority.credit(truth.astype(np.int64))
        if ties == "random":
            lot = np.random.default_rng(self.seed).random(credit.size)
            credit = np.where(np.isnan(credit), np.nan, lot < credit)
        return SideOfUniverse(credit, majority.certainty, has_ties=bool(majority.tied.any()))

    def _make_unit(self, name: str, kept: str) -> Unit | Sharing | None:
        n = len(self.data.items)
        if name == "general":
            clusters = {"persona": self.shared.persona, "question": self.shared.question}
            sharing = Sharing.of_items(n, clusters, self.votes(kept))
            return None if why_not(sharing) else sharing
        if name == "people":
            votes = self.votes(kept)
            blocks = annotator_blocks(votes)
            enough = np.unique(blocks[blocks >= 0]).size >= MIN_BLOCKS
            return Clusters.of(blocks) if enough else shared_people(votes)
        codes = {
            "item": np.arange(n),
            "persona": self.shared.persona,
            "question": self.shared.question,
        }[name]
        unit = Clusters.of(codes)
        return unit if unit.n >= MIN_BLOCKS else None

    def is_same(self, claim: str, ties: str, exclusions: str) -> bool:
        """Whether a tie or exclusion rule leaves the data of a claim unchanged."""
        kept = exclusions if ties != "exclude" else "as_reported"
        pairs = [(self.people(ties, exclusions), self.people("exclude", kept))]
        for run in self.runs if claim == "all" else self.runs[:1]:
            pairs.append((self.judge(run, ties, exclusions), self.judge(run, "exclude", kept)))
        return all(_are_same(claim, one, other) for one, other in pairs)


def _are_same(claim: str, one: SideOfUniverse, other: SideOfUniverse) -> bool:
    if claim == "all":
        return np.array_equal(one.credit, other.credit, equal_nan=True)
    # The claim also depends on certainty; answers without one do not count.
    ours, theirs = (
        np.where(np.isnan(side.certainty), np.nan, [side.credit, side.certainty])
        for side in (one, other)
    )
    return np.array_equal(ours, theirs, equal_nan=True)


def _votes(data: Dataset, kept: str) -> Votes:
    """Annotators' answers under one exclusion rule."""
    votes = people_votes(data, with_excluded=kept == "with_excluded")
    if kept != "without_hasty":
        return votes
    doubtful = hasty_or_one_sided(data.answers, len(data.raters))
    return votes.take(~doubtful[votes.annotator])


def hasty_or_one_sided(answers: Answers, n_raters: int) -> npt.NDArray[np.bool_]:
    """Raters whose median time is under a third of the median, or who always choose one side."""
    medians = _medians(answers.seconds, answers.rater, n_raters)
    known = ~np.isnan(medians)
    pace = float(np.median(medians[known])) if known.any() else 0.0
    side = on_side(answers.choice.astype(np.int64), answers.shown_first)
    sided = side >= 0
    n = np.bincount(answers.rater[sided], minlength=n_raters)
    n_a = np.bincount(answers.rater[sided & (side == 0)], minlength=n_raters)
    most = np.maximum(n_a, n - n_a)
    one_sided = (n >= SIDED_ANSWERS) & (most >= ONE_SIDED * n)
    return np.asarray((known & (medians < HASTE * pace)) | one_sided)


def _medians(seconds: npt.NDArray[np.float64], rater: Ints, n_raters: int) -> Floats:
    """The median of each rater's known values; NaN without any."""
    timed = ~np.isnan(seconds)
    seconds, rater = seconds[timed], rater[timed]
    in_order = seconds[np.lexsort((seconds, rater))]
    n = np.bincount(rater, minlength=n_raters)
    start, some = np.cumsum(n) - n, n > 0
    medians = np.full(n_raters, np.nan)
    low, high = (start + half for half in ((n - 1) // 2, n // 2))
    medians[some] = (in_order[low[some]] + in_order[high[some]]) / 2
    return medians


THRESHOLDS = (70, 80, 90)
LABELS = {"ties": TIES, "exclusions": EXCLUSIONS, "unit": UNITS}
TOO_FEW = {"n": 0, "n_people": 0, "state": "too_few"} | undefined(
    "too_few_items", "difference", "ci"
)
DECIDED = ("better", "worse", "equivalent", "cannot_tell")


def multiverse(report: Mapping[str, Any], data: Dataset, shared: SharedClusters) -> Json:
    """Both claims of the headline under every specification; `report` has the reported ones."""
    claims = []
    universes: dict[str, Universe] = {}
    for name, headline in (("all", "headline"), ("certain", "certainty_headline")):
        claimed = report[headline]
        if (
            claimed["state"] not in DECIDED
            or _published(report, name, claimed["run"])["ci"] is None
        ):
            continue
        if claimed["run"] not in universes:
            place = next(i for i, run in enumerate(data.runs) if run.run == claimed["run"])
            family = next(family for family in families(report["judges"]) if place in family)
            others = [data.runs[index] for index in family if index != place]
            own = data.runs[place]
            universes[own.run] = Universe(
                data, shared, report["seed"], [own, *others], asked_of_all(data, family)
            )
        claims.append(_claim(name, claimed["state"], universes[claimed["run"]], report))
    out: Json = {"claims": claims}
    put(out, "sentence", _sentence(claims), "nothing_compared")
    return out


def _published(report: Mapping[str, Any], claim: str, run: str) -> Mapping[str, Any]:
    """The headline's difference in general."""
    entry = next(entry for entry in report["comparison"] if entry["run"] == run)
    found: Mapping[str, Any] = (entry["certainty"]["high_sets"] if claim == "certain" else entry)[
        "difference_general"
    ]
    return found


def _claim(name: str, state: str, universe: Universe, report: Mapping[str, Any]) -> Json:
    """All specifications of a claim, and the share of decidable ones in which it holds."""
    axes, dropped = _axes(universe, name)
    tau = report["parameters"]["threshold"]
    thresholds = [tau, *(other for other in THRESHOLDS if other != tau)]
    if name == "certain":
        axes = {"ties": axes["ties"], "threshold": thresholds} | axes
    rows = []
    for options in product(*axes.values()):
        row = dict(zip(axes, options, strict=True))
        is_reported = list(options) == [values[0] for values in axes.values()]
        found = (
            _certain(universe, row)
            if name == "certain"
            else _whole(universe, row, report["parameters"]["margin"])
        )
        rows.append(row | found | {"reported": is_reported})
    for row in rows:
        put(row, "holds", None if row["state"] == "too_few" else row["state"] == state, "too_few")
    decided = [row for row in rows if row["holds"] is not None]
    return {
        "claim": name,
        "judge": universe.runs[0].judge,
        "run": universe.runs[0].run,
        "state": state,
        "holds": sum(row["holds"] for row in decided),
        "of": len(decided),
        "undecided": len(rows) - len(decided),
        "axes": axes,
        "left_out": dropped,
        "specifications": rows,
    }


def _axes(universe: Universe, claim: str) -> tuple[dict[str, list[Any]], list[Json]]:
    """The options of each choice, the report's own first, and those that change nothing."""
    n_items = len(universe.data.items)
    exclusions = [
        key
        for key in EXCLUSIONS
        if key == "as_reported" or not universe.is_same(claim, "exclude", key)
    ]
    ties = [
        key
        for key in TIES
        if key == "exclude" or not all(universe.is_same(claim, key, kept) for kept in exclusions)
    ]
    units, why = [], {}
    for name in UNITS:
        unit = universe.unit(name, "as_reported")
        if unit is None:
            why[name] = "too few"
        elif name != "item" and isinstance(unit, Clusters) and unit.n == n_items:
            why[name] = "the same as items"
        else:
            units.append(name)
    axes = {"ties": ties, "exclusions": exclusions, "unit": units}
    dropped = [
        {"axis": axis, "option": option, "because": why.get(option, "changes nothing here")}
        for axis, options in axes.items()
        for option in LABELS[axis]
        if option not in options
    ]
    return axes, dropped


def _whole(universe: Universe, row: Mapping[str, Any], margin: float) -> Json:
    """Judge minus majority on the items that both decided, with Holm over competing runs."""
    people = universe.people(row["ties"], row["exclusions"])
    unit = universe.unit(row["unit"], row["exclusions"])
    if unit is None:
        return TOO_FEW
    # If items vary and no tie counts half, exact tests for these annotators exist.
    is_exact = row["unit"] == "item" and row["ties"] != "half"
    found, inside = [], []
    for run in universe.runs:
        judge = universe.judge(run, row["ties"], row["exclusions"]).credit
        if universe.common is not None:
            judge = np.where(universe.common, judge, np.nan)
        if isinstance(unit, Sharing):
            general = general_difference(judge - people.credit, unit, margin=margin)
            found.append(_as_contrast(general, general.n, general.n))
            inside.append(general.p_equivalence)
        elif is_exact:
            contrast, p = _exact(judge, people.credit, margin)
            found.append(contrast)
            inside.append(p)
        else:
            found.append(paired_contrast(judge, people.credit, unit))
            inside.append(found[-1].p_equivalence(margin))
    own = found[0]
    differs, lies_inside = _is_small(holm([one.p for one in found])), _is_small(holm(inside))
    state = "too_few"
    if own.n >= MIN_COMPARED and own.ends is not None:
        state = "equivalent" if lies_inside else "cannot_tell"
        if differs:
            state = "better" if (own.value or 0) > 0 else "worse"
    return _entry(own, state, _method(row["unit"], is_exact=is_exact))


def _is_small(adjusted: Sequence[float | None]) -> bool:
    """Whether the adjusted p value of the first run is at most the level."""
    return adjusted[0] is not None and adjusted[0] <= LEVEL


def _method(unit: str, *, is_exact: bool = False) -> str:
    if unit == "general":
        return "general"
    return "tango" if is_exact else f"t over {unit}"


def _as_contrast(found: GeneralDifference, n: int, n_second: int) -> Contrast:
    wide = None if found.interval is None else (found.interval.low, found.interval.high)
    narrow = None if found.narrow is None else (found.narrow.low, found.narrow.high)
    reason = found.reason or found.interval_reason
    return Contrast(found.value, wide, narrow, found.p, n, n_second, reason)


def _exact(judge: Floats, people: Floats, margin: float) -> tuple[Contrast, float | None]:
    """Tango's interval, McNemar's test, and the p value of equivalence."""
    known = ~np.isnan(judge) & ~np.isnan(people)
    n = int(known.sum())
    if n == 0:
        return Contrast(None, None, None, None, 0, 0, "empty_group"), None
    ours, theirs = (np.where(known, side, MISSING).astype(np.int64) for side in (judge, people))
    pairs = count_pairs(ours, theirs)
    wide, narrow = tango_interval(pairs), tango_interval(pairs, 1 - 2 * LEVEL)
    ends = (wide.low, wide.high), (narrow.low, narrow.high)
    found = Contrast(pairs.difference, *ends, mcnemar(pairs).p, n, n)
    return found, equivalence(pairs, margin=margin).p


def _certain(universe: Universe, row: Mapping[str, Any]) -> Json:
    """Judge minus annotators, each where certain; both must have a certainty."""
    people = universe.people(row["ties"], row["exclusions"])
    unit = universe.unit(row["unit"], row["exclusions"])
    if unit is None:
        return TOO_FEW
    found = []
    for run in universe.runs:
        judge = universe.judge(run, row["ties"], row["exclusions"])
        both = np.ones(judge.credit.size, dtype=np.bool_)
        for values in (judge.credit, judge.certainty, people.credit, people.certainty):
            both &= ~np.isnan(values)
        high, theirs = (both & (side.certainty >= row["threshold"]) for side in (judge, people))
        if isinstance(unit, Sharing):
            general = general_contrast(judge.credit, high, people.credit, theirs, unit)
            sizes = int(high.sum()), int(theirs.sum())
            found.append(_as_contrast(general, *sizes))
        else:
            found.append(set_contrast(judge.credit, high, people.credit, theirs, unit))
    own = found[0]
    state = "too_few"
    if min(own.n, own.n_second) >= TOO_SMALL and own.ends is not None:
        state = "cannot_tell"
        if _is_small(holm([one.p for one in found])):
            state = "better" if (own.value or 0) > 0 else "worse"
    return _entry(own, state, _method(row["unit"]))


def _entry(contrast: Contrast, state: str, method: str) -> Json:
    out: Json = {"n": contrast.n, "n_people": contrast.n_second}
    put(out, "difference", contrast.value, contrast.reason)
    put(out, "ci", None if contrast.ends is None else list(contrast.ends), contrast.reason)
    if contrast.ends is not None:
        out["ci_made"] = {"method": method, "level": 1 - LEVEL, "n_items": contrast.n}
    return out | {"state": state}


def _sentence(claims: Sequence[Mapping[str, Any]]) -> str | None:
    """The sentence “The headline holds in 46 of 48 specifications”, for each claim."""
    about = {
        "all": "The comparison over all items",
        "certain": "The comparison where each is certain",
    }
    words = [
        f"{about[claim['claim']]} has the same result in {claim['holds']} of {claim['of']} "
        "specifications"
        for claim in claims
    ]
    return f"{'. '.join(words)}." if words else None
