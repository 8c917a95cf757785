"""Judge and people on the items where both are certain, and where neither is."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, number, put, put_interval
from analysis.stats.comparison.differences import paired_difference
from analysis.stats.comparison.paired import count_pairs, mcnemar
from analysis.stats.core.multiplicity import holm

BANDS = ("high", "low")


def by_band(judge: Verdicts, people: Verdicts, *, threshold: float) -> Json:
    """Paired comparisons on common items: each side's own high items would not be the same."""
    stated = ~np.isnan(judge.certainty) & ~np.isnan(people.certainty)
    judge_high, people_high = judge.certainty >= threshold, people.certainty >= threshold
    return {
        "high": _pair(judge, people, stated & judge_high & people_high),
        "low": _pair(judge, people, stated & ~judge_high & ~people_high),
    }


def _pair(judge: Verdicts, people: Verdicts, rows: npt.NDArray[np.bool_]) -> Json:
    pairs = count_pairs(judge.correct[rows], people.correct[rows])
    difference, test = paired_difference(pairs), mcnemar(pairs)
    out: Json = {"n": pairs.n, "b": pairs.b, "c": pairs.c}
    put(out, "difference", number(difference.value), difference.reason)
    put_interval(out, "ci", difference.interval, difference.reason)
    put(out, "p", number(test.p), test.reason)
    return out


def adjust_bands(comparisons: Sequence[Json]) -> None:
    """Holm's p over judges and bands, of the runs that saw the same features."""
    for features in {entry["features"] for entry in comparisons}:
        tests = [
            entry["by_band"][band]
            for entry in comparisons
            for band in BANDS
            if entry["features"] == features
        ]
        for test, p in zip(tests, holm([test["p"] for test in tests]), strict=True):
            put(test, "p_holm", number(p), test.get("p_reason"))
            test["family"] = len(tests)


def over_studies(
    reports: Iterable[Mapping[str, Any]],
) -> list[tuple[Mapping[str, Any], Mapping[str, Any], str, float | None]]:
    """Every run that saw the whole persona, in every band of every study, with Holm's p over all.

    A tuple holds the report, the run's comparison, the band and the adjusted p value.
    """
    found = [
        (report, entry, band)
        for report in reports
        for entry in report["comparison"]
        for band in BANDS
        if entry["features"] == "all"
    ]
    adjusted = holm([entry["by_band"][band]["p"] for _, entry, band in found])
    return [(*row, p) for row, p in zip(found, adjusted, strict=True)]
