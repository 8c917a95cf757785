"""Whether a judge can replace an annotator: tests, a description and leave-one-out."""

from collections.abc import Iterator
from dataclasses import replace

from analysis.data.arrays import EPSILON
from analysis.data.verdicts import Verdicts, run_options
from analysis.report.report_json import Json, estimate, number, pick, put, put_interval
from analysis.report.section import RUN, Analysis, NumberSource, ReportJson, Section
from analysis.report.study import IN_GENERAL, ReportedStudy, fix_people, rests_on
from analysis.report.tables import Table, TableColumn, table_of_entries
from analysis.report.words import named_comparisons, named_entries
from analysis.stats.comparison.alt_test import AltTest, alt_test, alt_test_certainty
from analysis.stats.comparison.human_likeness import HumanLikeness, human_likeness_of_several
from analysis.stats.comparison.leave_one_out import leave_one_out, reference_judges
from analysis.stats.comparison.replacement import AgreementScale, pooled_replacement_test
from analysis.stats.core.votes import Votes


def _alt_test(test: AltTest) -> Json:
    out = pick(test, {"omega": "omega", "rho": "rho", "passed": "passed"})
    return out | {"tested": len(test.annotators), "skipped": test.n_skipped}


def _likenesses(study: ReportedStudy) -> tuple[HumanLikeness, ...]:
    """Every run's kappa with annotators, and annotators' with each other, on the same resamples."""
    votes = study.votes
    options = max([votes.n_options, *(run_options(run) for run in study.data.runs)])
    return human_likeness_of_several(
        replace(votes, n_options=options),
        [judge.answer for judge in study.judges],
        n_draws=study.draws,
        rng=study.rng(),
    )


def _in_place_of_a_person(
    study: ReportedStudy, votes: Votes, judge: Verdicts, likeness: HumanLikeness
) -> Json:
    """Two tests of whether the judge can replace an annotator, and a description."""
    epsilon = study.data.epsilon
    test = alt_test(votes, judge.answer, epsilon=epsilon)
    alt = _alt_test(test) | {"epsilon": test.epsilon, "q": test.q}
    alt["certainty"] = _alt_test(alt_test_certainty(votes, judge.certainty, epsilon=epsilon))

    out: Json = {"alt_test": alt, "pooled_replacement": _pooled(study, votes, judge)}
    put(out, "human_likeness_z", number(likeness.z), likeness.reason)
    kappas: Json = {"people": likeness.n_people, "pairs": likeness.n_pairs}
    kappas["pairs_skipped"] = likeness.n_pairs_skipped
    gap = likeness.difference
    kappas |= estimate(gap, "difference")
    put(kappas, "judge_kappa", number(likeness.model_kappa), likeness.reason)
    put(kappas, "people_kappa", number(likeness.human_kappa), likeness.reason)
    put(kappas, "label", likeness.label, likeness.reason or "too_few_annotators")
    out["human_likeness"] = kappas
    return out


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
            ("z", "decimal", "human_likeness_z", "kappa with people"),
            ("difference", "decimal", "human_likeness.difference", "kappa with people"),
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
    """The alternative annotator test, the pooled test, and kappa with annotators."""

    name = "replacement"
    analyses = (
        Analysis(
            "replacement",
            tables=("replacement", "leave_one_out"),
            paths=(
                "comparison.*.alt_test",
                "comparison.*.pooled_replacement",
                "comparison.*.human_likeness",
                "comparison.*.human_likeness_z",
                "comparison.*.leave_one_out",
                "human.reference_judges",
            ),
            uses=("resamples",),
        ),
    )
    sources = (
        NumberSource("comparison.*.agreement", "replacement", RUN),
        NumberSource("comparison.*.agreement_with_majority", "replacement", RUN),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        found = zip(study.data.runs, study.judges, _likenesses(study), strict=True)
        return {
            "human": {"reference_judges": _references(study.votes)},
            "comparison": [
                _in_place_of_a_person(study, study.votes_with_options_of(run), judge, likeness)
                for run, judge, likeness in found
            ],
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield replacement(report)


def _leave_one_out(votes: Votes, judge: Verdicts) -> Json:
    """The judge and each annotator compared with the majority of the others, on the same items."""
    found = leave_one_out(votes, judge.answer)
    difference = found.difference
    out: Json = {"n": found.n, "ties": found.n_ties, "people": len(found.annotators)}
    out |= estimate(difference, "difference")
    put(out, "judge_agreement", number(found.model_agreement), difference.reason)
    put(out, "people_agreement", number(found.human_agreement), difference.reason)
    return out


def leave_one_out_table(report: ReportJson) -> Table:
    rows = []
    for name, versus in named_comparisons(report):
        found = versus["leave_one_out"]
        if found["n"]:
            rows.append(
                [
                    name,
                    found["n"],
                    found["judge_agreement"],
                    found["people_agreement"],
                    found["difference"],
                    found["ci"],
                ]
            )
    columns = (
        TableColumn("Run"),
        TableColumn("Answers", "count"),
        TableColumn("Judge", "percent", "As the majority of the others"),
        TableColumn("Person", "percent", "As the majority of the others"),
        TableColumn("Difference", "points"),
        TableColumn("95 % interval", "points_range"),
    )
    return Table(
        "leave_one_out",
        "Judge and person compared with the majority of the others",
        columns,
        rows,
        "Every answer of a person is compared with the majority of the item's other people; if "
        "they tie, it is left out. The interval allows for shared items and people.",
    )


class LeaveOneOutSection(Section):
    """The judge and each person compared with the majority of the other annotators."""

    name = "leave_one_out"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {
            "comparison": [
                {"leave_one_out": _leave_one_out(study.votes_with_options_of(run), judge)}
                for run, judge in runs
            ]
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield leave_one_out_table(report)
