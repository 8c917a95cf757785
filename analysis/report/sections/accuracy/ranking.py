"""All judges compared: joint tests of a difference, pairs that differ, and ranks."""

from collections.abc import Iterator

import numpy as np

from analysis.report.encode import Json, number, put, put_interval, undefined
from analysis.report.section import Analysis, Report, Section
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import run_names
from analysis.stats.comparison.judges import compare_judges, joint_bootstrap


def several_judges(study: ReportedStudy) -> Json:
    """The runs that saw the whole persona, on the items that all of them decided.

    The joint tests come first; pairs and ranks are Holm-adjusted and read only after them.
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
    found = compare_judges(correct)
    joint = joint_bootstrap(correct, study.shared.persona, rng=study.rng(), n_draws=study.draws)
    overall = found.overall
    out |= {"n": overall.n, "n_missing": overall.n_missing, "personas": joint.n_clusters}
    put(out, "q", number(overall.statistic), overall.reason)
    put(out, "p", number(overall.p), overall.reason)
    put(out, "p_joint", number(joint.p), joint.reason)
    out["pairs"] = []
    for pair in found.pairs:
        entry: Json = {"first": chosen[pair.first], "second": chosen[pair.second]}
        put(entry, "difference", number(pair.difference.value), pair.difference.reason)
        put_interval(entry, "ci", pair.difference.interval, pair.difference.reason)
        put(entry, "p", number(pair.p), "no_discordant")
        put(entry, "p_holm", number(pair.p_adjusted), "no_discordant")
        by_persona = joint.pairs.get((pair.first, pair.second))
        put(entry, "p_joint", number(by_persona), joint.reason)
        out["pairs"].append(entry)
    out["ranks"] = [
        {"run": index, "best": best, "worst": worst}
        for index, (best, worst) in zip(chosen, found.ranks, strict=True)
    ]
    return out


def pairs_of_judges(report: Report) -> Table:
    names, found = run_names(report), report["several_judges"]
    rows = [
        [
            names[pair["first"]],
            names[pair["second"]],
            pair["difference"],
            pair["ci"],
            pair["p"],
            pair["p_holm"],
            pair["p_joint"],
        ]
        for pair in found["pairs"]
    ]
    columns = (
        TableColumn("First"),
        TableColumn("Second"),
        TableColumn("Difference", "points"),
        TableColumn("95 % interval", "points_range"),
        TableColumn("McNemar p", "p"),
        TableColumn("Holm p", "p"),
        TableColumn("Joint p, by persona", "p"),
    )
    return Table(
        "several_judges",
        "Judges against one another",
        columns,
        rows,
        f"On the {found['n']} items that all of them decided. Read a pair only by its adjusted p "
        "values: Holm's over all pairs, and those of the joint bootstrap, which resamples whole "
        "personas.",
    )


def ranks(report: Report) -> Table:
    names = run_names(report)
    rows = [
        [names[entry["run"]], entry["best"], entry["worst"]]
        for entry in report["several_judges"]["ranks"]
    ]
    columns = (
        TableColumn("Run"),
        TableColumn("Best rank", "count"),
        TableColumn("Worst rank", "count"),
    )
    return Table(
        "ranks",
        "Ranks that the data leave open",
        columns,
        rows,
        "All of them hold together with 95 % confidence.",
    )


class RankingSection(Section):
    """The runs that saw the whole persona, compared with one another."""

    name = "ranking"
    analyses = (
        Analysis(
            "several",
            tables=("several_judges", "ranks"),
            paths=("several_judges",),
            uses=("resamples",),
        ),
    )

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"several_judges": several_judges(study)}

    def tables(self, report: Report) -> Iterator[Table]:
        yield pairs_of_judges(report)
        yield ranks(report)
