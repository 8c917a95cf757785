"""What annotators and their recruitment add to the pages of a study."""

from django.urls import reverse

from annotation.models import Annotator, ProlificSubmission
from annotation.prolific.api import types
from studies.models import Study
from studies.pages.workbench.registry import Mark, SectionPage, marks, register_pages, section_pages
from studies.statements.kept_figures import kept


def annotators_mark(study: Study) -> list[Mark]:
    people = kept(
        "navigation-annotators",
        study.pk,
        count=lambda: Annotator.objects.filter(study=study).count(),
        rows=int,
    )
    waiting = to_approve(study)
    return [Mark("annotators", people, f"{waiting:,} to approve" if waiting else "")]


def to_approve(study: Study) -> int:
    """Submissions on Prolific that wait for a decision; none where the study is not there."""
    if study.entry != Study.Entry.PROLIFIC:
        return 0
    return ProlificSubmission.objects.filter(
        prolific_study__study=study, status=types.AWAITING_REVIEW, approval_asked_at=None
    ).count()


# Title and name of each page of the section; those of Prolific only where the study recruits there.
_PAGES = (
    ("Places and quota", "people:places"),
    ("Checks", "people:checks"),
    ("Completion codes", "people:codes"),
)
_PROLIFIC = (("Prolific", "people:prolific"), ("Approve and pay", "people:prolific-settle"))
_LIST = (("Invitations", "people:invitations"),)


def annotator_pages(study: Study) -> list[SectionPage]:
    platform = {Study.Entry.PROLIFIC: _PROLIFIC, Study.Entry.LIST: _LIST}
    own = [
        SectionPage("annotators", "All annotators", reverse("people:list", args=[study.slug])),
        SectionPage("annotators", "Preview", reverse("people:preview", args=[study.slug])),
    ]
    pages = (*_PAGES, *platform.get(Study.Entry(study.entry), ()))
    return own + [
        SectionPage("annotators", title, reverse(name, args=[study.slug]), for_editors=True)
        for title, name in pages
    ]


def register() -> None:
    marks.register(annotators_mark)
    section_pages.register(annotator_pages)
    register_pages("annotators", "people:")
