"""The chapter on accuracy: each judge minus the majority."""

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.data.verdicts import Verdicts
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    Text,
    Words,
    bare,
    clause,
    joined,
    say,
)
from analysis.report.report_json import Json, estimate, pick, put, put_interval, why
from analysis.report.results import sampled
from analysis.report.rules import SMALL
from analysis.report.section import RUN, Analysis, NumberSource, ReportJson, Section, Sentence
from analysis.report.sections.accuracy.high_and_low import EqualCertainty, HighAndLow, SingleAnswers
from analysis.report.sentences import DETECTABLE
from analysis.report.study import (
    IN_GENERAL,
    ReportedStudy,
    asked_of_all,
    families,
    fix_people,
    identity,
    put_holm,
    rests_on,
)
from analysis.report.tables import Table, as_best, table_of_entries
from analysis.report.words import named_entries, run_names
from analysis.stats.accuracy.general_accuracy import difference_bounds
from analysis.stats.comparison.differences import adjusted_states, equivalence, paired_difference
from analysis.stats.comparison.general_difference import (
    GeneralDifference,
    detectable_difference,
    general_difference,
)
from analysis.stats.comparison.paired import PairedCounts, count_pairs, mcnemar
from analysis.stats.core.clusters import annotator_blocks
from analysis.stats.core.multiplicity import left_by_holm
from analysis.stats.core.results import n_distinct
from analysis.stats.core.shared_variance import Sharing


def add_general(
    entries: Sequence[Json],
    study: ReportedStudy,
    families: Sequence[Sequence[int]],
    *,
    margin: float,
) -> None:
    """Add the difference in general to every comparison, adjusted within its family.

    If people are fixed, their errors belong to the items and do not vary between studies.
    """
    people, judges, is_fixed = study.people, study.judges, study.data.people_are_fixed
    sharing = study.shared.judged if is_fixed else study.shared.items
    blocks = annotator_blocks(study.votes)
    for family in families:
        results, common = [], asked_of_all(study.data, family)
        for index in family:
            both = judges[index].scored & people.scored
            if common is not None:
                both &= common
            gap = np.where(both, judges[index].correct - people.correct, np.nan)
            result = general_difference(gap, sharing, margin=margin, among=len(family))
            results.append(result)
            entries[index]["difference_general"] = _difference_in_general(
                result, sharing.take(both), int(n_distinct(blocks[both])), margin
            )
            out = entries[index]["difference_general"]
            for key, side in (("judge_accuracy", judges[index]), ("people_accuracy", people)):
                put(out, key, side.correct[both].mean() if both.any() else None)
            if common is not None:
                out["asked_of_all"] = len(family)
            if is_fixed:
                fix_people(entries[index]["difference_general"], study.votes.n_annotators)
        states = adjusted_states(results)
        left = left_by_holm([one.p for one in states])
        for index, adjusted, result, among in zip(family, states, results, left, strict=True):
            out = entries[index]["difference_general"]
            reason = why(result)
            out["family"] = len(family)
            out["tests"] = sum(one.p is not None for one in results)
            out |= pick(
                adjusted,
                {"p_holm": "p", "equivalence_p_holm": "p_equivalence", "state": "state"},
                reason,
            )
            detectable = detectable_difference(result, among=among)
            put(out, "detectable", detectable, reason or "no_variation")


def _difference_in_general(
    result: GeneralDifference, within: Sharing, blocks: int, margin: float
) -> Json:
    reason = why(result)
    out: Json = {"holds_for": IN_GENERAL, "n": result.n, "blocks": blocks}
    out |= estimate(result)
    put_interval(out, "ci_as_best", result.as_best, reason)
    out |= pick(result, "se df p", reason)
    out["margin"] = margin
    put(out, "equivalence_p", result.p_equivalence, reason)
    put_interval(out, "equivalence_ci", result.narrow, reason)
    return out | rests_on(within)


def _difference_of_these(pairs: PairedCounts, margin: float) -> Json:
    """Judge minus majority for these annotators only; no verdict depends on it."""
    difference = paired_difference(pairs)
    verdict = equivalence(pairs, margin=margin)
    out: Json = {"holds_for": THESE_ONLY, "n": pairs.n}
    put(out, "value", difference.value, difference.reason)
    put_interval(out, "ci", difference.interval, difference.reason)
    # Wald's standard error is 0 if no item is discordant, or all are in the same direction.
    wald = difference.wald
    if wald is not None and wald.low == wald.high:
        wald = None
    put_interval(out, "wald_ci", wald, difference.reason or "no_variation")
    out["margin"] = margin
    out |= pick(verdict, {"state": "state", "equivalence_p": "p"})
    put_interval(out, "equivalence_ci", verdict.interval, verdict.reason)
    return out


def _bounds(judge: Verdicts, people: Verdicts) -> Json:
    """The lowest and highest difference possible with either side's missing answers."""
    asked = (judge.scored | people.scored).nonzero()[0]
    bounds = difference_bounds(judge.correct[asked], people.correct[asked])
    out = pick(bounds, "low high sign_holds")
    return out | {"n_excluded": bounds.n_excluded}


THESE_ONLY = "these annotators and items only"


READINGS = {
    "different": "different",
    "equivalent": "equivalent",
    "different_within_margin": "different, within the margin",
    "inconclusive": "cannot tell",
}


# The heading above the tests for these annotators.
HERE = "these annotators only"


def comparison(report: ReportJson) -> Table:
    entries = [
        (
            name,
            {
                **entry,
                "reading": READINGS.get(entry["difference_general"]["state"]),
            },
        )
        for name, entry in named_entries(report, "comparison")
    ]
    return table_of_entries(
        "comparison",
        "Every run compared with the majority, on common items",
        entries,
        [
            ("Items", "count", "difference_general.n"),
            ("Difference", "points", "difference_general.value"),
            ("95 % interval", "points_range", "difference_general.ci_as_best"),
            ("p", "p", "difference_general.p"),
            ("Holm p", "p", "difference_general.p_holm"),
            ("of runs", "count", "difference_general.family"),
            ("90 % interval", "points_range", "difference_general.equivalence_ci"),
            ("Holm p of equivalence", "p", "difference_general.equivalence_p_holm"),
            ("Reading", "text", "reading"),
            ("Detectable", "points", "difference_general.detectable"),
            ("from", "points", "difference.bounds.low", "With missing answers"),
            ("to", "points", "difference.bounds.high", "With missing answers"),
        ],
        say(
            "Intervals, p values and reading are about {kinds} like these. {best}Different: "
            "Holm's p is at most .05. Equivalent: that of two one-sided tests is, for a margin of "
            "±{margin} points set in the study. {detectable} With missing answers: the smallest "
            "and largest difference that ties and missing answers allow.",
            kinds=sampled(report),
            best=bare(
                as_best(
                    report,
                    "The lower end of the 95 % interval allows for choosing the best of several "
                    "runs, as on the first screen. Holm: adjusted over this many runs, those that "
                    "compete to be the best (for others, those that saw the same features). ",
                )
            ),
            margin=Quantity("margin", None, report["parameters"]["margin"], "parameters.margin"),
            detectable=bare(DETECTABLE),
        ),
    )


def difference_intervals(report: ReportJson) -> Table:
    return table_of_entries(
        "difference_intervals",
        "The same differences by other intervals and tests",
        [pair for pair in named_entries(report, "comparison") if pair[1]["difference"]["n"]],
        [
            ("Difference", "points", "difference.value"),
            ("in general", "points_range", "difference_general.ci", "95 % interval"),
            ("degrees of freedom", "number", "difference_general.df"),
            ("as the best", "points_range", "difference_general.ci_as_best", "95 % interval"),
            ("Tango", "points_range", "difference.ci", HERE),
            ("Wald", "points_range", "difference.wald_ci", HERE),
            ("Only judge right", "count", "mcnemar.b", HERE),
            ("Only people right", "count", "mcnemar.c", HERE),
            ("McNemar p", "p", "mcnemar.p", HERE),
            ("Holm p", "p", "mcnemar.p_holm", HERE),
        ],
        say(
            "In general: {kinds} count as drawn from others like them. This needs at least 8 "
            "people, and 4 times as many people as answers per item. {best}Tango's and Wald's "
            "intervals and McNemar's exact test hold for these annotators only. Wald's has no "
            "width if no item differs; it is shown for comparison with papers that use it.",
            kinds=sampled(report),
            best=bare(
                as_best(
                    report,
                    "As the best: the same with a lower end that allows for choosing the best of "
                    "several runs. ",
                )
            ),
        ),
    )


class PairedDifferenceSection(Section):
    """Every run and the majority, adjusted over the runs that compete."""

    name = "paired_difference"
    needs = ("accuracies",)
    analyses = (
        Analysis(
            "difference",
            tables=("comparison", "difference_intervals"),
            paths=(
                "headline",
                "comparison.*.difference",
                "comparison.*.difference_general",
                "comparison.*.mcnemar",
            ),
            main=("comparison.*.difference_general.value", "comparison.*.difference.value"),
        ),
        Analysis(
            "equivalence",
            paths=(
                "comparison.*.difference.state",
                "comparison.*.difference.equivalence_p",
                "comparison.*.difference.equivalence_ci",
                "comparison.*.difference.margin",
                "comparison.*.difference_general.state",
                "comparison.*.difference_general.equivalence_p",
                "comparison.*.difference_general.equivalence_p_holm",
                "comparison.*.difference_general.equivalence_ci",
                "comparison.*.difference_general.margin",
            ),
            uses=("margin",),
            main=(
                "comparison.*.difference_general.equivalence_p",
                "comparison.*.difference.equivalence_p",
            ),
        ),
    )
    sources = (
        NumberSource("comparison.*", "comparison", RUN),
        NumberSource("comparison.*.difference_general.clusters", ""),
        NumberSource("comparison.*.difference_general.ci_as_best", "difference_intervals", RUN),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        margin = study.data.study.equivalence_margin
        entries = []
        for run, judge in zip(study.data.runs, study.judges, strict=True):
            pairs = count_pairs(judge.correct, study.people.correct)
            difference = _difference_of_these(pairs, margin) | {
                "bounds": _bounds(judge, study.people)
            }
            test = {"holds_for": THESE_ONLY, "n": pairs.n, "b": pairs.b, "c": pairs.c}
            test |= pick(mcnemar(pairs), "p p_mid")
            entries.append(identity(run) | {"mcnemar": test, "difference": difference})
        competing = families(earlier["judges"])
        # More judges mean more chances.
        for positions in competing:
            tests = [entries[index]["mcnemar"] for index in positions]
            put_holm(tests)
            for test in tests:
                test["family"] = len(tests)
        add_general(entries, study, competing, margin=margin)
        return {"comparison": entries}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield comparison(report)
        yield difference_intervals(report)


MAX_NAMED = 8


def _small_cells(report: ReportJson) -> Iterator[Sentence]:
    """Name the main cells with fewer than 30 items."""
    sides: list[tuple[Name | Words, ReportJson]] = [
        (Words("the majority"), report["human"]["majority"])
    ]
    sides += zip(map(Name, run_names(report)), report["judges"], strict=True)
    small = [
        _small_cell(who, side, band)
        for who, side in sides
        for band in ("high", "low")
        if 0 < side[band]["n"] < SMALL
    ]
    if small:
        more = Quantity("count", None, len(small) - MAX_NAMED)
        text = say(
            "These cells have fewer than {few} items and are rough: {cells}{more}.",
            few=Quantity("level", None, SMALL),
            cells=joined(small[:MAX_NAMED], "; ", "; "),
            more=clause(" and {n} more", n=more) if more.value > 0 else Words(""),
        )
        yield Sentence("limit", text, "small_cells")


def _small_cell(who: Name | Words, side: ReportJson, band: str) -> Text:
    n = side[band]["n"]
    of = Population("item", f"of {band} certainty of {who}", n, side["n"])
    return clause(
        "{who} at {band} certainty ({n} of {n.among})",
        who=who,
        band=Words(band),
        n=Quantity("count", of, n),
    )


class Accuracy(Section):
    """Accuracy by certainty, and on common items."""

    name = "accuracy"
    title = "Accuracy"
    inside = "Accuracy of each side, the comparison, and groups"
    is_printed = True
    has_threshold = True
    parts = (
        HighAndLow(),
        PairedDifferenceSection(),
        SingleAnswers(),
        EqualCertainty(),
    )

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        yield from _small_cells(report)
