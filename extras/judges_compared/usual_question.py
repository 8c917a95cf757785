"""Judges that were also asked in another setting, compared with the usual question item by item."""

from collections.abc import Iterator

import numpy as np

from analysis.data.arrays import Floats, RunData
from analysis.report.report_json import Json, put, tested
from analysis.report.study import ReportedStudy, put_holm
from analysis.stats.comparison.general_difference import general_difference
from extras.judges_compared.ways import credits_of, read_by
from judging.protocols.protocol import Certainty, Standard

_USUAL = (Standard.name, Certainty.name)


def compared_with_usual(study: ReportedStudy, setting: str) -> list[Json]:
    """One entry for each run in the setting that has a run with the usual question beside it."""
    entries = []
    for run, usual in _pairs(study.data.runs, setting):
        sides = credits_of_pair(study, run, usual)
        both = ~np.isnan(sides[0] - sides[1])
        entry: Json = {
            "judge": run.judge,
            "features": run.features,
            setting: run.run,
            "usual": usual.run,
            "usual_setting": usual.setting,
            "n": int(both.sum()),
        }
        for name, credit in zip((f"{setting}_right", "usual_right"), sides, strict=True):
            put(entry, name, float(credit[both].mean()) if both.any() else None)
        # Both sides are of one judge, so people share nothing of the difference.
        entry["difference"] = tested(general_difference(sides[0] - sides[1], study.shared.judged))
        entries.append(entry)
    put_holm([entry["difference"] for entry in entries])
    return entries


def credits_of_pair(study: ReportedStudy, run: RunData, usual: RunData) -> list[Floats]:
    """The credits of both runs, by item; an item without a verdict counts half."""
    return [
        credits_of(study.data, asked, read_by(study.data, asked, "both"), half=True)
        for asked in (run, usual)
    ]


def _pairs(runs: tuple[RunData, ...], setting: str) -> Iterator[tuple[RunData, RunData]]:
    """Each run in the setting, with the run that differs from it only in the question."""
    for run in runs:
        if run.setting != setting:
            continue
        alike = [
            other
            for other in runs
            if other.setting in _USUAL
            and (other.judge, other.features, other.orders, other.way)
            == (run.judge, run.features, run.orders, run.way)
        ]
        if alike:
            yield run, min(alike, key=lambda other: _USUAL.index(other.setting))
