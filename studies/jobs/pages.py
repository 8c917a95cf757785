"""A job on a page: its progress while it runs, and the button that requests it again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import JsonResponse

from studies.jobs.models import Job


@dataclass(frozen=True)
class Retry:
    """The button below an ended or stalled job; posts `fields` to `url`, or links there."""

    url: str
    label: str = "Try again"
    fields: Mapping[str, Any] = field(default_factory=dict)
    is_link: bool = False
    about: str = ""  # for screen readers, if a page has several such buttons


def job_status(job: Job | None) -> JsonResponse:
    """The response that a page polls while it follows a job."""
    if job is None:
        return JsonResponse({"progress": 100, "message": "", "open": False})
    return JsonResponse({"progress": job.progress, "message": job.sentence, "open": job.is_open})
