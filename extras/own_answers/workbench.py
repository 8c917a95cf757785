"""What people who answer for themselves add to the pages of a study, and to deleting it."""

from django.urls import reverse

from extras.own_answers.models import LinkedStudy
from studies.models import Study
from studies.pages.workbench.registry import SectionPage, register_pages, section_pages
from studies.services.whole_studies.removal import StudyContent

_PAGES = (("Linked study", "own_people:linked"), ("Second visits", "own_people:second-visits"))


def annotator_pages(study: Study) -> list[SectionPage]:
    """Pages of researchers about annotators who answer for themselves."""
    if not study.asks_own_answers:
        return []
    return [
        SectionPage("annotators", title, reverse(name, args=[study.slug]), for_editors=True)
        for title, name in _PAGES
    ]


def content_of(study: Study) -> StudyContent:
    """What stands against deleting a study."""
    linked = LinkedStudy.objects.filter(first=study).values_list("study__slug", flat=True)
    if not (slugs := ", ".join(f"“{slug}”" for slug in linked)):
        return StudyContent()
    return StudyContent(
        obstacles=[
            f"People of this study are shown in {slugs}, and could no longer take that back. "
            "Delete these first."
        ]
    )


def register() -> None:
    section_pages.register(annotator_pages)
    register_pages("annotators", "own_people:")
