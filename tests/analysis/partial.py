"""A report with few resamples, or a part of one: most of the time of a report is the rest."""

from typing import Any

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report, frame, in_order_of_computing, needs_of
from analysis.report.report_json import Json
from analysis.report.section import merge
from analysis.report.study import ReportedStudy as Arrays
from studies.models import Study


def computed(
    study: Study, *names: str, seed: int = 1, bootstrap: int = 20, threshold: int | None = None
) -> Json:
    """What the named sections, and those that they need, add to report.json."""
    data = load_dataset(study.slug)
    own = data.study.certainty_threshold
    arrays = Arrays(data, own if threshold is None else threshold, seed, bootstrap)
    order = in_order_of_computing()
    needs = needs_of({section.name: section for section in order})
    wanted: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        wanted.add(name)
        waiting += needs[name]
    report: dict[str, Any] = frame(arrays)
    for section in order:
        if section.name in wanted:
            merge(report, section.compute(arrays, report))
    return report


def report_of(study: Study, *, seed: int = 1, bootstrap: int = 20) -> Json:
    """The whole report, with few resamples."""
    return build_report(load_dataset(study.slug), seed=seed, bootstrap=bootstrap)
