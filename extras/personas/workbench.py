"""What the pages of a study lead to."""

from django.urls import reverse

from studies.models import Study
from studies.pages.workbench.registry import SectionPage, register_pages, section_pages


def pages(study: Study) -> list[SectionPage]:
    changed = reverse("personas:changed-personas", args=[study.slug])
    texts = reverse("personas:profiles", args=[study.slug])
    return [
        SectionPage("items", "Changed personas", changed, for_editors=True),
        SectionPage("judges", "Profile texts", texts, for_editors=True),
    ]


def register() -> None:
    section_pages.register(pages)
    register_pages("items", "personas:changed-personas")
    register_pages("judges", "personas:")
