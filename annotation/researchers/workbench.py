"""What annotators and their recruitment add to the pages of a study."""

from annotation.models import Annotator, ProlificSubmission
from annotation.prolific.api import types
from studies.models import Study
from studies.pages.workbench.registry import Mark, marks, register_pages
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


def register() -> None:
    marks.register(annotators_mark)
    register_pages("annotators", "people:")
