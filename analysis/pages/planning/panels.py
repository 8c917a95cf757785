"""What forecasts and the watched comparison add to the launch page, the monitor and the menu."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import reverse

from analysis.planning import wording
from analysis.planning.requests import forecast_of
from analysis.planning.watching import watched
from studies.models.studies import Study
from studies.pages.workbench.registry import (
    MonitorCard,
    SectionPage,
    cards,
    launch_parts,
    register_pages,
    section_pages,
)


def what_if_context(result: Mapping[str, Any], key: str = "") -> dict[str, Any]:
    """The designs of a forecast, and the one that is shown: that of `key`, or the planned one."""
    designs = wording.what_ifs(result)
    planned = next(one for one in designs if one.is_planned)
    return {
        "designs": designs,
        "chosen": next((one for one in designs if one.key == key), planned),
        "warnings": result["warnings"],
    }


def on_launch(study: Study) -> Iterator[MonitorCard]:
    """What the study can show, next to the button that opens it."""
    job = forecast_of(study.pk)
    context: dict[str, Any] = {"study": study, "job": job}
    if job is not None and job.result:
        context |= what_if_context(job.result)
    yield MonitorCard("forecast", "analysis/planning/_launch.html", context)


def on_monitor(study: Study) -> Iterator[MonitorCard]:
    watch = watched(study)
    if watch is not None:
        context = {"watch": watch, "study": study}
        yield MonitorCard("judges", "analysis/planning/_watch.html", context)


def pages(study: Study) -> list[SectionPage]:
    return [
        SectionPage("report", "What it can show", reverse("planning:forecast", args=[study.slug])),
        SectionPage("report", "Watched comparison", reverse("planning:watched", args=[study.slug])),
    ]


def register() -> None:
    launch_parts.register(on_launch)
    cards.register(on_monitor)
    section_pages.register(pages)
    register_pages("report", "planning:")
