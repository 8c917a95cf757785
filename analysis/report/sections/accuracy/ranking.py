"""All judges together: do they differ at all, which pairs do, and how do they rank?"""

from collections.abc import Sequence

import numpy as np

from analysis.data.arrays import Dataset
from analysis.data.verdicts import Verdicts
from analysis.report.clusters import Shared
from analysis.report.encode import Json, number, put, put_interval, undefined
from analysis.report.judges import identity
from analysis.stats.comparison.judges import compare_judges, joint_bootstrap


def several_judges(
    data: Dataset, judges: Sequence[Verdicts], shared: Shared, *, seed: int, draws: int
) -> Json:
    """The runs that saw the whole persona, on the items that every one of them decided.

    The joint tests come first; pairs and ranks are Holm-adjusted and read only after them.
    """
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
    joint = joint_bootstrap(correct, shared.persona, rng=np.random.default_rng(seed), n_draws=draws)
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
