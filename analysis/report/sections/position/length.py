"""Is the longer response chosen more often than it is right? Said of people and of judges."""

import numpy as np

from analysis.data.arrays import MISSING, TIE, Dataset
from analysis.data.verdicts import Verdicts
from analysis.report.clusters import Shared
from analysis.report.encode import Json, estimate, number, put
from analysis.stats.accuracy.verbosity import length_pull, verbosity_bias


def verbosity(data: Dataset, verdicts: Verdicts, shared: Shared, *, by_people: bool) -> Json:
    """From the verdicts of one side; ties of either kind have no longer response."""
    lengths = np.array([item.lengths for item in data.items], dtype=np.int64).reshape(-1, 2)
    answer, truth = (
        np.where(choice == TIE, MISSING, choice).astype(np.int64)
        for choice in (verdicts.answer, data.truth)
    )
    columns = (lengths[:, 0], lengths[:, 1], answer, truth)
    found = verbosity_bias(*columns)
    clusters = shared.of_items(np.arange(len(data.items)), by_people=by_people)
    out: Json = {"n": found.n, "equal": found.n_equal}
    put(out, "longer_chosen", number(found.longer_chosen), found.difference.reason)
    put(out, "longer_true", number(found.longer_true), found.difference.reason)
    out["difference"] = estimate(found.difference)
    out["per_doubling"] = estimate(length_pull(*columns, clusters=clusters).per_doubling)
    return out
