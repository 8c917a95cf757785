"""What forecasts and the watched comparison add to the launch page, the monitor and the menu."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import reverse

from extras.planning import wording
from extras.planning.requests import forecast_of
from extras.planning.sources import items_for_people
from extras.planning.watching import watched
from studies.models.studies import Study
from studies.pages.workbench.registry import (
    MonitorCard,
    SectionPage,
    SetupTask,
    TaskState,
    cards,
    launch_parts,
    register_pages,
    section_pages,
    setup_tasks,
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


def plan_task(study: Study) -> Iterator[SetupTask]:
    """An optional step: the newest forecast in a line, and whether it is about this size."""
    job = forecast_of(study.pk)
    if job is None or job.result is None:
        state, words = TaskState.NOT_STARTED, "Simulate studies of this size before you pay for one"
    else:
        design, items = job.result["designs"][0], items_for_people(study)
        state, words = TaskState.DONE, wording.summary_of(design)
        if (design["items"], design["answers"]) != (items, study.annotations_per_item):
            state = TaskState.ATTENTION
            words = (
                f"Computed for {wording.size_words(design['items'], design['answers'])}; the "
                f"study has {wording.size_words(items, study.annotations_per_item)}"
            )
    title = "Plan: what this study can show"
    address = reverse("planning:forecast", args=[study.slug])
    yield SetupTask("plan", title, state, words, address, is_optional=True)


def on_launch(study: Study) -> Iterator[MonitorCard]:
    """What the study can show, next to the button that opens it."""
    job = forecast_of(study.pk)
    context: dict[str, Any] = {"study": study, "job": job}
    if job is not None and job.result:
        context |= what_if_context(job.result)
    yield MonitorCard("forecast", "planning/_launch.html", context)


def on_monitor(study: Study) -> Iterator[MonitorCard]:
    watch = watched(study)
    if watch is not None:
        context = {"watch": watch, "study": study}
        yield MonitorCard("judges", "planning/_watch.html", context)


def pages(study: Study) -> list[SectionPage]:
    return [
        SectionPage("report", "What it can show", reverse("planning:forecast", args=[study.slug])),
        SectionPage("report", "Watched comparison", reverse("planning:watched", args=[study.slug])),
    ]


def register() -> None:
    launch_parts.register(on_launch)
    setup_tasks.register(plan_task)
    cards.register(on_monitor)
    section_pages.register(pages)
    register_pages("report", "planning:")
