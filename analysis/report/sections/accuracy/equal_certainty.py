"""Judge and majority on items where both are certain, and on items where neither is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, number, put, put_interval
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import named_comparisons, run_name
from analysis.stats.comparison.differences import paired_difference
from analysis.stats.comparison.paired import count_pairs, mcnemar
from analysis.stats.core.multiplicity import holm

BANDS = ("high", "low")


def by_band(judge: Verdicts, people: Verdicts, threshold: float) -> Json:
    """Paired comparisons on common items, because each side's own high items differ."""
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


_BANDS = {"high": "both certain", "low": "neither certain"}


_BAND_FIELDS = ("n", "difference", "ci", "b", "c", "p")


_BAND_COLUMNS = (
    TableColumn("Items where"),
    TableColumn("Items", "count"),
    TableColumn("Difference", "points"),
    TableColumn("95 % interval", "points_range"),
    TableColumn("Only judge right", "count"),
    TableColumn("Only people right", "count"),
    TableColumn("McNemar p", "p"),
)


_BAND_NOTE = (
    "Paired, on items where both sides are at or above the threshold and where both are below it. "
    "Tango's intervals and McNemar's tests: they hold for these annotators only. Holm: adjusted "
    "over every judge and both bands"
)


def by_band_over_studies(reports: Sequence[Report]) -> Table:
    """The comparisons of several studies, with Holm's p over all of their tests."""
    rows = [
        [
            report["study"]["title"],
            run_name(versus, report["comparison"]),
            _BANDS[band],
            *(versus["by_band"][band][key] for key in _BAND_FIELDS),
            p,
        ]
        for report, versus, band, p in over_studies(reports)
        if versus["by_band"][band]["n"]
    ]
    return Table(
        "by_band",
        "Judge and majority at equal certainty, over all data",
        (
            TableColumn("Data"),
            TableColumn("Run"),
            *_BAND_COLUMNS,
            TableColumn("Holm p, all data", "p"),
        ),
        rows,
        f"{_BAND_NOTE}, of every study in this table.",
    )


class EqualCertainty(Section):
    """Paired comparisons on common items within either band of certainty."""

    name = "equal_certainty"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        entries = [
            {"features": run.features, "by_band": by_band(judge, study.people, study.threshold)}
            for run, judge in zip(study.data.runs, study.judges, strict=True)
        ]
        adjust_bands(entries)
        return {"comparison": [{"by_band": entry["by_band"]} for entry in entries]}

    def tables(self, report: Report) -> Iterator[Table]:
        rows = [
            [name, label, *(versus["by_band"][band][key] for key in (*_BAND_FIELDS, "p_holm"))]
            for name, versus in named_comparisons(report)
            for band, label in _BANDS.items()
            if versus["by_band"][band]["n"]
        ]
        yield Table(
            "by_band",
            "Judge and majority at equal certainty, on common items",
            (TableColumn("Run"), *_BAND_COLUMNS, TableColumn("Holm p", "p")),
            rows,
            f"{_BAND_NOTE}.",
        )
