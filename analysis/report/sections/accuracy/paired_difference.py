"""Judge less majority on common items, for these annotators and in general."""

from collections.abc import Iterator, Sequence

from analysis.data.verdicts import Verdicts
from analysis.report.competition import families
from analysis.report.encode import Json, number, pick, put, put_interval
from analysis.report.section import RUN, Analysis, NumberSource, Report, Section
from analysis.report.sections.accuracy.general_difference import add_general
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.names import named_entries
from analysis.report.text.verdicts import DETECTABLE
from analysis.stats.accuracy.bounds import difference_bounds
from analysis.stats.comparison.differences import equivalence, paired_difference
from analysis.stats.comparison.paired import PairedCounts, count_pairs, mcnemar
from analysis.stats.core.multiplicity import holm


def _mcnemar(pairs: PairedCounts) -> Json:
    test = mcnemar(pairs)
    out: Json = {"holds_for": THESE_ONLY, "n": pairs.n, "b": pairs.b, "c": pairs.c}
    put(out, "p", number(test.p), test.reason)
    put(out, "p_mid", number(test.p_mid), test.reason)
    return out


def _difference(pairs: PairedCounts, margin: float) -> Json:
    """Judge less majority for these annotators only; no verdict depends on it."""
    difference = paired_difference(pairs)
    verdict = equivalence(pairs, margin=margin)
    out: Json = {"holds_for": THESE_ONLY, "n": pairs.n}
    put(out, "value", number(difference.value), difference.reason)
    put_interval(out, "ci", difference.interval, difference.reason)
    # Wald's standard error is 0 if no item is discordant, or if every item is in the same way.
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
    """The lowest and the highest difference that missing answers of either side allow."""
    asked = (judge.scored | people.scored).nonzero()[0]
    found = difference_bounds(judge.correct[asked], people.correct[asked])
    out = pick(found, {"low": "low", "high": "high", "sign_holds": "sign_holds"})
    return out | {"n_excluded": found.n_excluded}


THESE_ONLY = "these annotators and items only"


def adjust_for_several(entries: Sequence[Json], families: Sequence[Sequence[int]]) -> None:
    """Holm's p values over the competing runs, because more judges have more chances."""
    for positions in families:
        family = [entries[index] for index in positions]
        adjusted = holm([entry["mcnemar"]["p"] for entry in family])
        for entry, p in zip(family, adjusted, strict=True):
            put(entry["mcnemar"], "p_holm", number(p), entry["mcnemar"].get("p_reason"))
            entry["mcnemar"]["family"] = len(family)


READINGS = {
    "different": "different",
    "equivalent": "equivalent",
    "different_within_margin": "different, within the margin",
    "inconclusive": "cannot tell",
}


# The heading above the tests for these annotators.
HERE = "these annotators only"


def comparison(report: Report) -> Table:
    margin = report["parameters"]["margin"] * 100
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
        "Every run against the majority, on common items",
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
            ("from", "points", "difference.bounds.low", "Whatever is missing"),
            ("to", "points", "difference.bounds.high", "Whatever is missing"),
        ],
        "Intervals, p values and reading allow for people, personas and questions in common: they "
        "are about others like these. The lower end of the 95 % interval allows for naming the "
        "best of several runs, as the answer on the first screen does. Runs that compete and were "
        "asked different items are compared on those that all were asked. Holm: adjusted over so "
        "many runs, those that compete for being the best (of the others, over those that saw the "
        "same features). Different: Holm's "
        "p is at most .05. Equivalent: that of two one-sided tests is, for a margin of "
        f"±{margin:g} points set in the study. "
        f"{DETECTABLE} Whatever is missing: the least and the greatest difference that ties and "
        "missing answers allow.",
    )


def difference_intervals(report: Report) -> Table:
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
        "In general: items, people, personas and questions are taken as drawn from others like "
        "them. It needs at least 8 people, and 4 times as many as there are answers to an item. "
        "As the best: the same with a lower end that allows for naming the best of several runs. "
        "Tango's and Wald's intervals and McNemar's exact test hold for these annotators only. "
        "Wald's has no width where no item differs; it is here to compare with papers that use it.",
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
        ),
    )
    sources = (
        NumberSource("comparison.*", "comparison", RUN),
        NumberSource("comparison.*.difference_general.clusters", ""),
        NumberSource("comparison.*.difference_general.ci_as_best", "difference_intervals", RUN),
    )

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        margin = study.data.study.equivalence_margin
        entries = []
        for run, judge in zip(study.data.runs, study.judges, strict=True):
            pairs = count_pairs(judge.correct, study.people.correct)
            difference = _difference(pairs, margin) | {"bounds": _bounds(judge, study.people)}
            entries.append(identity(run) | {"mcnemar": _mcnemar(pairs), "difference": difference})
        competing = families(earlier["judges"])
        adjust_for_several(entries, competing)
        add_general(entries, study, competing, margin=margin)
        return {"comparison": entries}

    def tables(self, report: Report) -> Iterator[Table]:
        yield comparison(report)
        yield difference_intervals(report)
