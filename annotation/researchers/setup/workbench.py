"""What the texts for annotators add to the pages of a study."""

from collections.abc import Iterator

from django.urls import reverse

from annotation.content.text_templates import unfilled
from studies.models import Study
from studies.pages.workbench.registry import (
    SectionPage,
    SetupTask,
    TaskState,
    section_pages,
    setup_tasks,
)


def text_pages(study: Study) -> list[SectionPage]:
    address = reverse("people:texts", args=[study.slug])
    return [SectionPage("annotators", "Texts", address, for_editors=True)]


def text_tasks(study: Study) -> Iterator[SetupTask]:
    """The task of the texts, while placeholders are left in them."""
    if left := unfilled(study):
        first, number = next(iter(left.values()))[0], sum(map(len, left.values()))
        yield SetupTask(
            "texts",
            "Instructions, consent, debrief",
            TaskState.ATTENTION,
            f"Fill in {number} placeholder{'' if number == 1 else 's'}, first “{first}”",
            reverse("people:texts", args=[study.slug]),
        )


def register() -> None:
    section_pages.register(text_pages)
    setup_tasks.register(text_tasks)
