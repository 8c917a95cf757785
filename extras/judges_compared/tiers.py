"""Kappas of a judge with people, its tier by “Judge’s Verdict”, and one person left out."""

from collections.abc import Iterator
from dataclasses import replace

from analysis.data.verdicts import Verdicts, run_options
from analysis.report.report_json import Json, estimate, pick, put
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import named_comparisons, named_entries, reason
from analysis.stats.core.votes import Votes
from extras.judges_compared.stats import HumanLikeness, human_likeness_of_several, leave_one_out


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


def _of_run(likeness: HumanLikeness, judge: Json, *, options: int) -> Json:
    out: Json = {}
    put(out, "human_likeness_z", likeness.z, likeness.reason)
    kappas: Json = {"people": likeness.n_people, "pairs": likeness.n_pairs}
    kappas["pairs_skipped"] = likeness.n_pairs_skipped
    kappas |= estimate(likeness.difference, "difference")
    kappas |= pick(likeness, {"judge_kappa": "model_kappa", "people_kappa": "human_kappa"})
    accuracy = judge["clusters"]["ci"] or judge["ci"]
    label, why = likeness.tier(guesses=accuracy is not None and accuracy[0] <= 1 / options)
    put(kappas, "label", label, why)
    return out | {"human_likeness": kappas}


def tiers_table(report: ReportJson) -> Table:
    rows = []
    for name, entry in named_entries(report, "comparison"):
        likeness = entry["human_likeness"]
        label = likeness["label"] or f"none: {reason(likeness['label_reason'])}"
        rows.append((name, likeness | {"z": entry["human_likeness_z"], "tier": label}))
    return table_of_entries(
        "tiers",
        "Tier of each judge by its kappa with people",
        rows,
        [
            ("People", "count", "people"),
            ("Judge", "decimal", "judge_kappa", "Mean kappa with people"),
            ("People", "decimal", "people_kappa", "Mean kappa with people"),
            ("Difference", "decimal", "difference", "Judge minus people"),
            ("95 % interval", "range", "ci", "Judge minus people"),
            ("z", "decimal", "z"),
            ("Tier", "text", "tier"),
        ],
        "z: the difference in standard deviations of people’s kappas. “Human-like” is |z| below 1, "
        "“super-consistent” 1 or more, “below human” −1 or less (Judge’s Verdict, 2025), with ten "
        "people or more, and not for a judge whose kappa with people, or whose share of right "
        "answers, may be that of a guess. Where no two people share 30 items, a person is compared "
        "with all others together. A person’s kappa then differs by chance too, which brings z "
        "closer to 0: read the difference and its interval first, which is for these people.",
    )


class TierSection(Section):
    """The tier of each judge within people's kappas with each other."""

    name = "tiers"
    analyses = (
        Analysis(
            "replacement",
            paths=("comparison.*.human_likeness", "comparison.*.human_likeness_z"),
        ),
    )
    shows = ("tiers", "agreement_matrix", "agreement_matrix_alpha")
    keys = """
human_likeness | object | The judge's agreement with people, compared with theirs with each other.
human_likeness_z | number | Standard deviations between both agreements.
judge_kappa | coefficient | Mean kappa of the judge with annotators.
people_kappa | coefficient | Mean kappa of annotators with each other.
pairs_skipped | count | Pairs without enough items in common.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        of_runs = zip(_likenesses(study), earlier["judges"], study.data.runs, strict=True)
        return {
            "comparison": [
                _of_run(likeness, judge, options=run_options(run))
                for likeness, judge, run in of_runs
            ]
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if any(run["human_likeness"]["people_kappa"] is not None for run in report["comparison"]):
            yield tiers_table(report)


TIERS = TierSection()


def _leave_one_out(votes: Votes, judge: Verdicts) -> Json:
    """The judge and each annotator compared with the majority of the others, on the same items."""
    agreement = leave_one_out(votes, judge.answer)
    difference = agreement.difference
    out: Json = {"n": agreement.n, "ties": agreement.n_ties, "people": len(agreement.annotators)}
    out |= estimate(difference, "difference")
    out |= pick(
        agreement,
        {"judge_agreement": "model_agreement", "people_agreement": "human_agreement"},
        difference.reason,
    )
    return out


def leave_one_out_table(report: ReportJson) -> Table:
    entries = ((name, entry["leave_one_out"]) for name, entry in named_comparisons(report))
    return table_of_entries(
        "leave_one_out",
        "Judge and person compared with the majority of the others",
        [(name, kappas) for name, kappas in entries if kappas["n"]],
        [
            ("Answers", "count", "n"),
            ("Judge", "percent", "judge_agreement", "As the majority of the others"),
            ("Person", "percent", "people_agreement", "As the majority of the others"),
            ("Difference", "points", "difference"),
            ("95 % interval", "points_range", "ci"),
        ],
        "Every answer of a person is compared with the majority of the item's other people; if "
        "they tie, it is left out. The interval allows for shared items and people.",
    )


class LeaveOneOutSection(Section):
    """The judge and each person compared with the majority of the other annotators."""

    name = "leave_one_out"
    analyses = (
        Analysis("replacement", tables=("leave_one_out",), paths=("comparison.*.leave_one_out",)),
    )
    shows = ("leave_one_out",)
    keys = """
leave_one_out | object | The judge and each annotator against the majority of the others.
leave_one_out.people | share | Agreement of annotators with the majority of the others.
people_agreement | share | Agreement of annotators with the majority of the others.
judge_agreement | share | Agreement of the judge with the same majorities.
"""

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


LEAVE_ONE_OUT = LeaveOneOutSection()
