"""The runs that saw the whole persona, compared with one another."""

from collections.abc import Iterator

import numpy as np

from analysis.report.report_json import Json, pick, put, put_interval, undefined
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import decimal, p_value, reason, run_names
from extras.judges_compared.stats import compare_judges, joint_bootstrap


def several_judges(study: ReportedStudy) -> Json:
    """The runs that saw the whole persona, on the items that all of them decided.

    The joint tests come first; read the Holm-adjusted pairs and ranks only after them.
    """
    data, judges = study.data, study.judges
    chosen = [
        index
        for index, (run, verdicts) in enumerate(zip(data.runs, judges, strict=True))
        if run.features == "all" and verdicts.scored.any()
    ]
    out: Json = {"runs": [identity(data.runs[index]) for index in chosen]}
    if len(chosen) < 2:
        return (
            out | {"n": 0, "pairs": [], "ranks": []} | undefined("one_judge", "q", "p", "p_joint")
        )
    correct = np.stack([judges[index].correct for index in chosen], axis=1)
    comparison = compare_judges(correct)
    joint = joint_bootstrap(correct, study.shared.persona, rng=study.rng(), n_draws=study.draws)
    overall = comparison.overall
    out |= {"n": overall.n, "n_missing": overall.n_missing, "personas": joint.n_clusters}
    out |= pick(overall, {"q": "statistic", "p": "p"})
    put(out, "p_joint", joint.p, joint.reason)
    out["pairs"] = []
    for pair in comparison.pairs:
        entry: Json = {"first": chosen[pair.first], "second": chosen[pair.second]}
        put(entry, "difference", pair.difference.value, pair.difference.reason)
        put_interval(entry, "ci", pair.difference.interval, pair.difference.reason)
        put(entry, "p", pair.p, "no_discordant")
        put(entry, "p_holm", pair.p_adjusted, "no_discordant")
        by_persona = joint.pairs.get((pair.first, pair.second))
        put(entry, "p_joint", by_persona, joint.reason)
        out["pairs"].append(entry)
    out["ranks"] = [
        {"run": index, "best": best, "worst": worst}
        for index, (best, worst) in zip(chosen, comparison.ranks, strict=True)
    ]
    return out


def pairs_of_judges(report: ReportJson) -> Table:
    names, comparison = run_names(report), report["several_judges"]
    return table_of_entries(
        "several_judges",
        "Judges compared with one another",
        [
            (names[pair["first"]], {**pair, "second": names[pair["second"]]})
            for pair in comparison["pairs"]
        ],
        [
            ("Second", "text", "second"),
            ("Difference", "points", "difference"),
            ("95 % interval", "points_range", "ci"),
            ("McNemar p", "p", "p"),
            ("Holm p", "p", "p_holm"),
            ("Joint p, by persona", "p", "p_joint"),
        ],
        f"{_whether_any_differ(comparison)}Read a pair only by its adjusted p "
        "values: Holm's over all pairs, and those of the joint bootstrap, which resamples whole "
        "personas.",
        first="First",
    )


def _whether_any_differ(report: ReportJson) -> str:
    """The joint tests, which come before any pair; empty without several judges."""
    if not report["pairs"]:
        return ""
    if report["p"] is None:
        q = f"Cochran’s Q is undefined ({reason(report['p_reason'])})"
    else:
        p = p_value(report["p"])
        q = f"Cochran’s Q is {decimal(report['q'])} (p {p}, items as independent)"
    if report["p_joint"] is None:
        joint = f"is undefined ({reason(report['p_joint_reason'])})"
    else:
        joint = f"gives p {p_value(report['p_joint'])}"
    return (
        f"On the {report['n']:,} items that all of them decided, {q}; the joint bootstrap over "
        f"{report['personas']:,} personas {joint}. "
    )


def ranks(report: ReportJson) -> Table:
    names = run_names(report)
    return table_of_entries(
        "ranks",
        "Ranks compatible with the data",
        [(names[entry["run"]], entry) for entry in report["several_judges"]["ranks"]],
        [("Best rank", "count", "best"), ("Worst rank", "count", "worst")],
        "All ranges hold together with 95 % confidence.",
    )


class RankingSection(Section):
    """The runs that saw the whole persona, compared with one another."""

    name = "ranking"
    shows = ("ranks", "several_judges", "difference_intervals")
    keys = """
several_judges | object | Tests of all runs against each other.
several_judges.runs | list | Places of the runs in `judges`.
several_judges.q | number | Cochran's Q.
n_missing | count | Items that not all runs decided.
best | count | Best place that the run may have.
worst | count | Worst place that the run may have.
ranks | list | Which places are possible for each run.
p_joint | probability | The p-value of a joint test of all runs.
"""
    analyses = (
        Analysis(
            "several",
            tables=("several_judges", "ranks"),
            paths=("several_judges",),
            uses=("resamples",),
        ),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"several_judges": several_judges(study)}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield pairs_of_judges(report)
        yield ranks(report)


RANKING = RankingSection()
