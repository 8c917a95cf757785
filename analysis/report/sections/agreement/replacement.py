"""Whether a judge can replace an annotator: two tests, and trivial judges."""

from collections.abc import Iterator
from dataclasses import replace

from analysis.data.arrays import EPSILON
from analysis.data.verdicts import Verdicts
from analysis.report.report_json import Json, estimate, number, pick, put, put_interval
from analysis.report.section import RUN, Analysis, NumberSource, ReportJson, Section
from analysis.report.study import IN_GENERAL, ReportedStudy, fix_people, rests_on
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import named_entries
from analysis.stats.comparison.alt_test import (
    AltTest,
    alt_test,
    alt_test_certainty,
    reference_judges,
)
from analysis.stats.comparison.replacement import AgreementScale, pooled_replacement_test
from analysis.stats.core.votes import Votes


def _alt_test(test: AltTest) -> Json:
    out = pick(test, {"omega": "omega", "rho": "rho", "passed": "passed"})
    return out | {"tested": len(test.annotators), "skipped": test.n_skipped}


def _in_place_of_a_person(study: ReportedStudy, votes: Votes, judge: Verdicts) -> Json:
    """Two tests of whether the judge can replace an annotator."""
    epsilon = study.data.epsilon
    test = alt_test(votes, judge.answer, epsilon=epsilon)
    alt = _alt_test(test) | {"epsilon": test.epsilon, "q": test.q}
    alt["certainty"] = _alt_test(alt_test_certainty(votes, judge.certainty, epsilon=epsilon))
    return {"alt_test": alt, "pooled_replacement": _pooled(study, votes, judge)}


def _pooled(study: ReportedStudy, votes: Votes, judge: Verdicts) -> Json:
    """The judge in place of a person, over all people, on both scales and the worse one."""
    is_fixed = study.data.people_are_fixed
    sharing = study.shared.judged if is_fixed else study.shared.items
    found = pooled_replacement_test(
        votes, judge.answer, epsilon=study.data.epsilon, sharing=sharing
    )
    out: Json = {"epsilon": found.epsilon, "n": found.n, "holds_for": IN_GENERAL}
    out["scale"] = "balanced" if found.worse is found.balanced else "raw"
    out |= _scale(found.worse)
    out["raw"], out["balanced"] = _scale(found.raw), _scale(found.balanced)
    reason = found.gain.interval_reason or found.gain.reason
    out["gain"] = estimate(found.gain)
    put(out["gain"], "low", number(found.gain_low), reason)
    out["rarest"] = found.rarest
    put(out, "same_label", number(found.same_label), "empty_group")
    out["decided"] = int((judge.answer >= 0).sum())
    out |= rests_on(sharing.take((votes.counts().sum(axis=1) >= 2) & (judge.answer >= 0)))
    if is_fixed:
        fix_people(out, found.n_people)
    put(out, "people_effective", number(found.people_effective), "no_pairs")
    return out


def _scale(scale: AgreementScale) -> Json:
    reason = scale.advantage.interval_reason or scale.advantage.reason
    out: Json = {}
    put(out, "judge_agrees", number(scale.model), scale.advantage.reason)
    put(out, "people_agree", number(scale.people), scale.advantage.reason)
    put(out, "advantage_of_people", number(scale.advantage.value), scale.advantage.reason)
    put_interval(out, "ci", scale.advantage.interval, reason)
    put(out, "p", number(scale.p), reason)
    put(out, "se", number(scale.se), reason)
    put(out, "df", number(scale.df), reason)
    return out


def replacement(report: ReportJson) -> Table:
    epsilon = next((run["pooled_replacement"]["epsilon"] for run in report["comparison"]), EPSILON)
    test = f"alt-test, ε = {epsilon:g}"
    table = table_of_entries(
        "replacement",
        "Could the judge replace an annotator?",
        named_entries(report, "comparison") if report["human"]["answers"] else [],
        [
            ("Judge", "percent", "pooled_replacement.raw.judge_agrees", "agrees with a person"),
            ("Person", "percent", "pooled_replacement.raw.people_agree", "agrees with a person"),
            ("Judge", "percent", "pooled_replacement.balanced.judge_agrees", "the same, balanced"),
            ("Person", "percent", "pooled_replacement.balanced.people_agree", "the same, balanced"),
            ("people's advantage", "points", "pooled_replacement.advantage_of_people", "pooled"),
            ("p", "p", "pooled_replacement.p", "pooled"),
            ("Agrees with majority", "percent", "agreement_with_majority"),
            ("Kappa", "decimal", "cohen_kappa"),
            ("ω", "decimal", "alt_test.omega", test),
            ("ρ", "decimal", "alt_test.rho", test),
            ("tested", "count", "alt_test.tested", test),
            ("skipped", "count", "alt_test.skipped", test),
            ("ω", "decimal", "alt_test.certainty.omega", "the same of certainty"),
            ("ρ", "decimal", "alt_test.certainty.rho", "the same of certainty"),
        ],
        "Balanced agreement is the mean over the labels that people gave, so a judge that always "
        "gives the same one of two labels has 50 %. The pooled test asks about the average "
        "annotator, on the scale where the judge is worse. The alternative annotator test skips "
        "people with fewer than 30 usable items; with 30 items each it rarely passes. The last "
        "rows are trivial judges.",
    )
    if not table.rows:
        return table
    return replace(table, rows=[*table.rows, *_reference_rows(report, len(table.columns))])


def _reference_rows(report: ReportJson, width: int) -> list[list[object]]:
    """Trivial judges: the most common label, a coin, and another person at random."""
    rows = []
    for judge in report["human"]["reference_judges"]:
        raw, balanced = judge["raw"], judge["balanced"]
        row = [judge["reference"], raw, judge["people_raw"], balanced, judge["people_balanced"]]
        row.append(max(judge["people_raw"] - raw, judge["people_balanced"] - balanced))
        rows.append(row + [None] * (width - len(row)))
    return rows


def _references(votes: Votes) -> list[Json]:
    judges = reference_judges(votes)
    return [
        {
            "reference": judge.name,
            "raw": judge.raw,
            "balanced": judge.balanced,
            "people_raw": judges[-1].raw,
            "people_balanced": judges[-1].balanced,
        }
        for judge in judges
    ]


class ReplacementSection(Section):
    """The alternative annotator test, and the pooled test."""

    name = "replacement"
    analyses = (
        Analysis(
            "replacement",
            tables=("replacement",),
            paths=(
                "comparison.*.alt_test",
                "comparison.*.pooled_replacement",
                "human.reference_judges",
            ),
            uses=("resamples",),
            main=("comparison.*.alt_test.omega", "comparison.*.pooled_replacement.p"),
        ),
    )
    sources = (
        NumberSource("comparison.*.agreement", "replacement", RUN),
        NumberSource("comparison.*.agreement_with_majority", "replacement", RUN),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        found = zip(study.data.runs, study.judges, strict=True)
        return {
            "human": {"reference_judges": _references(study.votes)},
            "comparison": [
                _in_place_of_a_person(study, study.votes_with_options_of(run), judge)
                for run, judge in found
            ],
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield replacement(report)
