"""Test runs through the preview: whether somebody went all the way, how long it took, on what.

No answer is kept. The session counts; what is stored is one line of the study's log.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from studies.models import Study, StudyLog
from studies.pages.numbers import whole_number
from studies.services.studies import record

EVENT = "test run"
# The widest screen that counts as a phone, in CSS pixels.
PHONE_WIDTH = 480


@dataclass(frozen=True)
class TrialRun:
    """A test run that reached its end."""

    seconds: int
    items: int
    on_phone: bool


def begin(session: MutableMapping[str, Any], study: Study) -> None:
    """Somebody opens the first page: what was counted before is forgotten."""
    session[_key(study)] = {"began": timezone.now().timestamp(), "items": [], "widest": 0}


def answered(session: MutableMapping[str, Any], study: Study, number: int, width: str) -> None:
    """Count an answered item; `width` is what the browser says, nothing where it says nothing."""
    run = session.get(_key(study))
    if run is None:
        return
    wide = whole_number(width, most=99_999) or 0
    session[_key(study)] = {
        **run,
        "items": sorted({*run["items"], number}),
        # One answer without a width, or on a wide screen, and it was no run on a phone.
        "widest": max(run["widest"], wide or PHONE_WIDTH + 1),
    }


def finish(
    session: MutableMapping[str, Any], study: Study, *, expected: int, user: User
) -> TrialRun | None:
    """Log the run if every one of the `expected` items was answered; None if not."""
    run = session.pop(_key(study), None)
    if run is None or not expected or len(run["items"]) < expected:
        return None
    seconds = max(0, round(timezone.now().timestamp() - run["began"]))
    done = TrialRun(seconds, len(run["items"]), run["widest"] <= PHONE_WIDTH)
    record(study, EVENT, user=user, seconds=seconds, items=done.items, on_phone=done.on_phone)
    return done


def runs_of(study: Study) -> list[TrialRun]:
    """The study's test runs, the latest first."""
    lines = StudyLog.objects.filter(study=study, event=EVENT).values_list("detail", flat=True)
    return [TrialRun(d["seconds"], d["items"], d["on_phone"]) for d in lines]


def _key(study: Study) -> str:
    return f"test-run-{study.pk}"
