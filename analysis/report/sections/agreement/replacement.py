"""Tests of whether a judge can replace an annotator, and a description."""

from collections.abc import Iterator
from dataclasses import replace

from analysis.data.verdicts import Verdicts, run_options
from analysis.report.encode import Json, estimate, number, pick, put, put_interval
from analysis.report.section import RUN, Analysis, Report, Section, Source
from analysis.report.study import Study
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.names import named_entries
from analysis.stats.comparison.alt_test import AltTest, alt_test, alt_test_certainty
from analysis.stats.comparison.human_likeness import HumanLikeness, human_likeness_of_several
from analysis.stats.comparison.leave_one_out import pooled_replacement_test
from analysis.stats.core.votes import Votes

# The advantage that the authors of the test give crowd workers over a model.
EPSILON = 0.1


def _alt_test(test: AltTest) -> Json:
    out = pick(test, {"omega": "omega", "rho": "rho", "passed": "passed"})
    return out | {"tested": len(test.annotators), "skipped": test.n_skipped}


def _likenesses(study: Study) -> tuple[HumanLikeness, ...]:
    """Every run's kappa with annotators, and theirs with each other, on the same resamples."""
    votes = study.votes
    options = max([votes.n_options, *(run_options(run) for run in study.data.runs)])
    return human_likeness_of_several(
        replace(votes, n_options=options),
        [judge.answer for judge in study.judges],
        n_draws=study.draws,
        rng=study.rng(),
    )


def _in_place_of_a_person(votes: Votes, judge: Verdicts, likeness: HumanLikeness) -> Json:
    """Two tests of whether the judge can replace an annotator, and a description."""
    test = alt_test(votes, judge.answer, epsilon=EPSILON)
    alt = _alt_test(test) | {"epsilon": test.epsilon, "q": test.q}
    alt["certainty"] = _alt_test(alt_test_certainty(votes, judge.certainty, epsilon=EPSILON))

    pooled = pooled_replacement_test(votes, judge.answer, epsilon=EPSILON)
    reason = pooled.advantage.reason or pooled.advantage.interval_reason
    pooled_out: Json = {"epsilon": pooled.epsilon, "n": pooled.n}
    put(pooled_out, "advantage_of_people", number(pooled.advantage.value), pooled.advantage.reason)
    put_interval(pooled_out, "ci", pooled.advantage.interval, reason)
    put(pooled_out, "p", number(pooled.p), reason)
    put(pooled_out, "se", number(pooled.se), reason)

    out: Json = {"alt_test": alt, "pooled_replacement": pooled_out}
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


def replacement(report: Report) -> Table:
    return table_of_entries(
        "replacement",
        "Could the judge replace an annotator?",
        named_entries(report, "comparison") if report["human"]["answers"] else [],
        [
            ("Agrees with majority", "percent", "agreement_with_majority"),
            ("Kappa", "decimal", "cohen_kappa"),
            ("ω", "decimal", "alt_test.omega", "alt-test, ε = .1"),
            ("ρ", "decimal", "alt_test.rho", "alt-test, ε = .1"),
            ("tested", "count", "alt_test.tested", "alt-test, ε = .1"),
            ("skipped", "count", "alt_test.skipped", "alt-test, ε = .1"),
            ("ω", "decimal", "alt_test.certainty.omega", "the same of certainty"),
            ("ρ", "decimal", "alt_test.certainty.rho", "the same of certainty"),
            ("people's advantage", "points", "pooled_replacement.advantage_of_people", "pooled"),
            ("p", "p", "pooled_replacement.p", "pooled"),
            ("z", "decimal", "human_likeness_z", "kappa with people"),
            ("difference", "decimal", "human_likeness.difference", "kappa with people"),
        ],
        "The alternative annotator test skips people with fewer than 30 usable items; with 30 "
        "items each it rarely passes. The pooled test asks about the average annotator.",
    )


class Replacement(Section):
    """The alternative annotator test, the pooled test, and kappa with annotators."""

    name = "replacement"
    is_long = True
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
            ),
            uses=("resamples",),
        ),
    )
    sources = (
        Source("comparison.*.agreement", "replacement", RUN),
        Source("comparison.*.agreement_with_majority", "replacement", RUN),
    )

    def compute(self, study: Study, earlier: Report) -> Json:
        found = zip(study.data.runs, study.judges, _likenesses(study), strict=True)
        return {
            "comparison": [
                _in_place_of_a_person(study.votes_with_options_of(run), judge, likeness)
                for run, judge, likeness in found
            ]
        }

    def tables(self, report: Report) -> Iterator[Table]:
        yield replacement(report)
