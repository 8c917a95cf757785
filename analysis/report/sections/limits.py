"""The chapter on limits: all possible claims of the report, and how many hold."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from analysis.data.verdicts import Ints
from analysis.report.quantities import Population, Quantity, Text, Words, say
from analysis.report.rater_tests import is_lean_of_errors, position_of
from analysis.report.report_json import Json, estimate, put
from analysis.report.results import late_changes, unplanned
from analysis.report.rules import LEVEL
from analysis.report.section import ReportJson, ReportPage, Section, Sentence, of_extras, on_in
from analysis.report.sentences import (
    CALIBRATION,
    CERTAIN,
    GROUPS,
    LANGUAGES,
    LENGTH,
    MAJORITY,
    OWN,
    PROBES,
    RANKING,
    SIDES,
    SINGLE,
    TOGETHER,
    TOPICS,
    claim_p,
)
from analysis.report.study import ReportedStudy, on_side
from analysis.report.tables import Table, table_of_entries
from analysis.stats.comparison.contrast import group_contrast
from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.groups import FEWEST_PERSONAS
from analysis.stats.core.multiplicity import flipped_signs, holding, permuted_groups
from analysis.stats.core.results import FloatArray, mid_ranks, relabel
from analysis.stats.core.shared_variance import Sharing

# A rater's values: name, a value per row (NaN if missing), and the row's item.
Rater = tuple[str, FloatArray, Ints]
# What a claim says as a number, with its interval over what the rows share.
Gap = Callable[[Sharing], GeneralDifference]


@dataclass(frozen=True)
class RaterClaim:
    """The test of people, their majority or a run, `about` one of several topics or languages.

    `t` has the sign of the claim; `p_max` is adjusted over the tests of the kind. `gap` is the
    difference with its interval, of claims that are about one.
    """

    kind: str
    who: str
    n: int
    t: float
    p_max: float
    about: str = ""
    gap: GeneralDifference | None = None

    @property
    def p(self) -> float | None:
        return None if np.isnan(self.p_max) else float(self.p_max)

    def as_json(self) -> Json:
        out: Json = {"kind": self.kind, "who": self.who, "n": self.n}
        out |= {"about": self.about} if self.about else {}
        why = "too_few_clusters" if self.about else "empty_group"
        put(out, "t", None if np.isnan(self.t) else self.t, why)
        put(out, "p_max", self.p, "too_few_clusters")
        return out if self.gap is None else out | estimate(self.gap)


def _as_claimed(claim: RaterClaim, earlier: ReportJson) -> float | None:
    """The adjusted p value; 1 if the interval of a correlation, in its chapter, includes 0."""
    if claim.kind != TOGETHER:
        return claim.p
    entry = earlier["comparison"][int(claim.who.removeprefix("judges."))]["certainty"]
    if entry.get("spearman_general_ci") is None:
        return claim.p
    return claim_p({"p": claim.p, "ci": entry["spearman_general_ci"]}, "p")


def _elsewhere(study: ReportedStudy, earlier: ReportJson) -> dict[str, list[float | None]]:
    """Adjusted p values of the kinds that other sections test."""
    whole, by_kind = study.whole_runs, dict[str, list[float | None]]()
    if groups := earlier.get("group_errors"):
        # Only claims about judges are made. A group's difference beyond people is only tested if
        # the difference itself holds.
        by_kind[GROUPS] = [
            claim_p(entry["difference"], "p_max")
            for place in whole
            for entry in groups["judges"][place]
        ]
    high = (earlier["comparison"][place]["certainty"]["high_sets"] for place in whole)
    by_kind[CERTAIN] = [claim_p(entry["difference_general"], ci="ci_as_best") for entry in high]
    bias = earlier.get("bias", {})
    by_kind[PROBES] = [
        claim_p(entry)
        for entry in bias.get("probes", ())
        if entry["target"] and not entry["mitigations"]
    ]
    by_kind[OWN] = [
        claim_p(entry["own" if entry["own"]["n"] else "people"]["bias"])
        for entry in bias.get("own", ())
    ]
    for section in of_extras(on_in(earlier)):
        if section.has_claims:
            by_kind |= {kind: list(tests) for kind, tests in section.claims(earlier).items()}
    return by_kind


def _sides(study: ReportedStudy) -> list[RaterClaim]:
    """How much more often side A was chosen than right."""
    data = study.data
    answers = data.answers
    raters = [(SINGLE, answers.item, answers.choice, answers.shown_first)]
    for place in study.whole_runs:
        rows = data.runs[place].judgments
        first = rows.sample == (rows.sample.min() if len(rows) else 0)
        raters.append(
            (f"judges.{place}", rows.item[first], rows.choice[first], rows.shown_first[first])
        )
    values: list[Rater] = []
    for who, item, choice, shown_first in raters:
        chosen = on_side(choice, shown_first)
        right = on_side(data.truth[item], shown_first)
        known = (chosen >= 0) & (right >= 0)
        values.append((who, np.where(known, right - chosen, np.nan), item))
    return _flipped(study, SIDES, values, _means(values))


def _beyond_errors(claim: RaterClaim, earlier: ReportJson) -> RaterClaim:
    """A claim about sides does not hold if errors without a preference give half of it or more."""
    entry, _ = position_of(earlier, claim.who)
    lean = claim.gap.value if claim.gap else None
    if lean is None or np.isnan(claim.p_max) or not is_lean_of_errors(entry, lean):
        return claim
    return replace(claim, p_max=1.0)


def _lengths(study: ReportedStudy) -> list[RaterClaim]:
    """Whether a side errs more often where the shorter response is right than where the longer is.

    Both kinds of items count equally: where longer responses are right more often, errors without
    any preference favour the shorter one.
    """
    lengths = np.array([item.lengths for item in study.data.items]).reshape(-1, 2)
    longer = (lengths[:, 1] > lengths[:, 0]).astype(np.int64)
    truth, items = study.binary_truth, np.arange(longer.size)
    comparable = (truth >= 0) & (lengths[:, 0] != lengths[:, 1])
    values, gaps = list[Rater](), dict[str, Gap]()
    sides = [(MAJORITY, study.people)]
    sides += [(f"judges.{place}", study.judges[place]) for place in study.whole_runs]
    for who, side in sides:
        known = comparable & np.isin(side.answer, (0, 1))
        wrong = np.where(known, (side.answer != truth).astype(np.float64), np.nan)
        parts = [known & (truth != longer), known & (truth == longer)]
        if all(part.any() for part in parts):
            gaps[who] = partial(group_contrast, wrong.copy(), truth != longer)
            for part, sign in zip(parts, (1, -1), strict=True):
                wrong[part] *= sign / part.sum()
            values.append((who, wrong, items))
    return _flipped(study, LENGTH, values, gaps)


def _certainty(study: ReportedStudy) -> Iterator[RaterClaim]:
    """Whether certainty is higher than accuracy, and whether certain answers are right more often.

    Where every item has one answer, the majority is that answer and has no test of its own.
    """
    votes, items = study.votes, np.arange(len(study.data.items))
    sides = [(SINGLE, votes.certainty, study.correct_alone, votes.item)]
    if np.bincount(votes.item).max(initial=0) > 1:
        sides.append((MAJORITY, study.people.certainty, study.people.correct, items))
    for place in study.whole_runs:
        side = study.judges[place]
        sides.append((f"judges.{place}", side.certainty, side.correct, items))
    gaps, ranks, by_band = list[Rater](), list[Rater](), dict[str, Gap]()
    for who, certainty, correct, item in sides:
        known = (correct >= 0) & ~np.isnan(certainty)
        if not known.any():
            continue
        gaps.append((who, np.where(known, certainty / 100 - correct, np.nan), item))
        high = certainty >= study.threshold
        shares = (high[known].mean(), correct[known].mean())
        product = (high - shares[0]) * (correct - shares[1])
        ranks.append((who, np.where(known, product, np.nan), item))
        by_band[who] = partial(group_contrast, np.where(known, correct, np.nan), high)
    yield from _flipped(study, CALIBRATION, gaps, _means(gaps))
    yield from _flipped(study, RANKING, ranks, by_band)
    # The chapter on certainty has the correlation and its interval.
    yield from _flipped(study, TOGETHER, list(_together(study)), {})


def _means(raters: Sequence[Rater]) -> dict[str, Gap]:
    return {who: partial(general_difference, values) for who, values, _ in raters}


def _together(study: ReportedStudy) -> Iterator[Rater]:
    """Each item's contribution to the rank correlation of a judge's and people's certainty."""
    theirs = study.people.certainty
    for place in study.whole_runs:
        stated = study.judges[place].certainty
        both = np.flatnonzero(~np.isnan(theirs) & ~np.isnan(stated))
        if both.size < 2:
            continue
        ranks = [mid_ranks(side[both]) for side in (theirs, stated)]
        values = np.full(theirs.size, np.nan)
        values[both] = (ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())
        yield f"judges.{place}", values, np.arange(theirs.size)


def _flipped(
    study: ReportedStudy, kind: str, raters: Sequence[Rater], gaps: Mapping[str, Gap]
) -> list[RaterClaim]:
    """Test all raters at once; results about people must hold over personas and over people.

    They must also hold by their own interval, where there is one.
    """
    persona, n = relabel(study.shared.persona)
    if n == 1:
        # With one persona, all claims are about that one.
        persona, n = np.arange(len(study.data.items)), len(study.data.items)
    votes = study.votes
    n_people = int(votes.annotator.max(initial=-1)) + 1
    loads = np.bincount(votes.item, minlength=len(study.data.items))
    sums = np.zeros((2 * len(raters), n + n_people))
    rows_of: list[list[int]] = []
    for place, (who, values, item) in enumerate(raters):
        known = ~np.isnan(values)
        sums[place, :n] = np.bincount(persona[item[known]], values[known], minlength=n)
        rows_of.append([place])
        if (who in (SINGLE, MAJORITY) or kind == TOGETHER) and n_people > 1:
            of_item = np.bincount(item[known], values[known], minlength=loads.size)
            shared = of_item[votes.item] / loads[votes.item]
            if who == SINGLE and values.size == votes.n:
                shared = np.where(known, values, 0.0)
            row = len(raters) + place
            sums[row, n:] = np.bincount(votes.annotator, shared, minlength=n_people)
            rows_of[-1].append(row)
    if not raters:
        return []
    test = flipped_signs(sums, rng=study.rng())
    out = []
    for (who, values, item), rows in zip(raters, rows_of, strict=True):
        p = float(test.adjusted[rows].max())
        gap = gaps[who](_sharing(study, who, values, item)) if who in gaps else None
        p = _larger(p, gap, len(raters), _too_few(study))
        n = int((~np.isnan(values)).sum())
        out.append(RaterClaim(kind, who, n, float(test.t[rows[0]]), p, gap=gap))
    return out


def _too_few(study: ReportedStudy) -> list[str]:
    """Why a number has no interval, so that a claim would not be about others.

    Claims about the only person are about nobody else.
    """
    several = ["too_few_annotators"] if study.votes.n_annotators > 1 else []
    return ["too_few_clusters", *several]


def _larger(p: float, gap: GeneralDifference | None, tests: int, too_few: Collection[str]) -> float:
    """The larger p of a resampling test and of its number; 1 if it has `too_few` clusters.

    Resampling is too liberal where a number has too few of an outcome for an interval, so the exact
    test is adjusted for all tests of the kind by itself.
    """
    if gap is not None and gap.interval_reason in too_few:
        return 1.0
    if gap is None or gap.p is None:
        return p
    return max(p, gap.p if gap.interval is not None else min(1.0, tests * gap.p))


def _sharing(study: ReportedStudy, who: str, values: FloatArray, item: Ints) -> Sharing:
    """What a rater's rows share; the majority's items also share people."""
    if who == MAJORITY:
        return study.shared.items
    if who != SINGLE:
        return study.shared.of_judgments(item)
    sharing = study.shared.answers
    if values.size != sharing.n:
        return Sharing.of_items(len(values), {"item": item})
    return sharing


def _on_parts(study: ReportedStudy, kind: str, values: Sequence[str]) -> list[RaterClaim]:
    """Topics or languages of items on which a side errs more often than on others."""
    items = study.data.items
    names = sorted(set(values) - {""})
    if len(names) < 2:
        return []
    code_of = {name: code for code, name in enumerate(names)}
    codes = np.array([code_of.get(value, -1) for value in values], dtype=np.int64)
    unit = np.arange(len(items))
    for shared in (study.shared.persona, study.shared.question):
        clusters, n = relabel(shared)
        of_unit = np.full(n, -1)
        of_unit[clusters] = codes
        # Clusters with one topic are permuted with all their items.
        if n > len(names) and (of_unit[clusters] == codes).all():
            unit = clusters
            break
    n = int(unit.max()) + 1
    of_unit = np.full(n, -1)
    of_unit[unit] = codes
    sides = [(MAJORITY, study.people.correct)]
    sides += [(f"judges.{n}", study.judges[n].correct) for n in study.whole_runs]
    sums = np.zeros((2, len(sides), n))
    for place, (_, correct) in enumerate(sides):
        known = correct >= 0
        for row, weights in enumerate((1.0 - correct[known], None)):
            sums[row, place] = np.bincount(unit[known], weights, minlength=n)
    inside = np.array([of_unit == code for code in range(len(names))])
    outside = (of_unit >= 0) & ~inside
    tests = permuted_groups(
        sums[0], sums[1], inside, outside, fewest=FEWEST_PERSONAS, rng=study.rng()
    )
    claims = []
    for place, (who, correct) in enumerate(sides):
        wrong = np.where((correct >= 0) & (codes >= 0), 1.0 - correct, np.nan)
        sharing = _sharing(study, who, wrong, np.arange(len(items)))
        # With two topics, one comparison is enough.
        for code, name in enumerate(names[: 1 if len(names) == 2 else None]):
            t, p = float(tests.t[place, code]), float(tests.adjusted[place, code])
            gap = None if np.isnan(p) else group_contrast(wrong, codes == code, sharing)
            p = _larger(p, gap, tests.t.size, _too_few(study))
            n = int(sums[1, place] @ inside[code])
            claims.append(RaterClaim(kind, who, n, t, p, about=name, gap=gap))
    return claims


def claims_table(report: ReportJson) -> Table:
    kinds = report.get("claims_tested", {"kinds": []})["kinds"]
    kinds = [kind | {"level": kind["level"] or None} for kind in kinds]
    return table_of_entries(
        "claims",
        "Claims tested, and claims that hold",
        [(kind["kind"], kind) for kind in kinds],
        [
            ("Tested", "count", "tested"),
            ("Hold", "count", "hold"),
            ("Smallest adjusted p", "p", "p_min"),
            ("Level", "p", "level"),
        ],
        "Claims are sentences and titles that say that something differs, leans or is harder. p "
        "is adjusted within a kind over all runs, people and groups, and 1 if the interval of the "
        "claim’s number includes 0. The level is what Holm leaves to a kind among all kinds, “–” "
        "if none of its claims holds. If nothing differs, at most about one report in twenty has "
        "any such sentence.",
        first="Claims about",
    )


class Claims(Section):
    """How many claims were tested, and how many hold."""

    name = "claims"
    needs = (
        "certainty_comparison",
        "group_errors",
        "high_sets",
        "bias_probes",
        "own_responses",
    )
    collects_claims = True

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json: every kind with its level, and raters' tests."""
        sides = [_beyond_errors(claim, earlier) for claim in _sides(study)]
        rater_claims = [*sides, *_lengths(study), *_certainty(study)]
        rater_claims += _on_parts(study, TOPICS, [item.topic for item in study.data.items])
        languages = study.data.languages
        rater_claims += _on_parts(
            study, LANGUAGES, [languages.get(item.key, "") for item in study.data.items]
        )
        adjusted = _elsewhere(study, earlier)
        for claim in rater_claims:
            adjusted.setdefault(claim.kind, []).append(_as_claimed(claim, earlier))
        tested = {
            kind: known
            for kind, values in adjusted.items()
            if (known := [p for p in values if p is not None])
        }
        levels = holding([min(values) for values in tested.values()], level=LEVEL)
        kinds: list[Json] = [
            {
                "kind": kind,
                "tested": len(values),
                "hold": sum(bool(p <= level) for p in values),
                "p_min": min(values),
                "level": level,
            }
            for (kind, values), level in zip(tested.items(), levels, strict=True)
        ]
        totals: Json = {key: sum(entry[key] for entry in kinds) for key in ("tested", "hold")}
        members = [claim.as_json() for claim in rater_claims]
        return {"claims_tested": totals | {"kinds": kinds, "members": members}}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield claims_table(report)


class LimitsSection(Section):
    """The limits of a report, collected from all sections."""

    name = "limits"
    title = "Limits"
    inside = "More limits of this study, besides those at the top"
    is_printed = True
    parts = (Claims(),)

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        return {"tested": _tested(page.report)}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        """Warn if nothing was planned, or plans changed later."""
        if report["registration"]["plan"] is None:
            yield Sentence("limit", unplanned(report), "explored")
        for text in late_changes(report):
            yield Sentence("limit", text, "late_change")
        if report.get("claims_tested"):
            yield Sentence("own", _tested(report))


def _tested(report: ReportJson) -> Text:
    """How many claims were tested, and how many hold."""
    tested = report.get("claims_tested", {"tested": 0, "hold": 0})
    claims = Population("claim", n=tested["tested"], path="claims_tested.tested")
    return say(
        "In addition to the answer of the first screen, {claims} {were} tested, and {hold} {verb}.",
        claims=claims,
        were=Words("was" if claims.n == 1 else "were"),
        hold=Quantity("count", claims, tested["hold"], "claims_tested.hold"),
        verb=Words("holds" if tested["hold"] == 1 else "hold"),
    )
