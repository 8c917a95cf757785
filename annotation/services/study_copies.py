"""What people's side of a study has, for copying and deleting the whole study."""

from annotation.models import (
    Annotation,
    Annotator,
    ComprehensionQuestion,
    DemographicQuestion,
    LinkedStudy,
    ProlificStudy,
    QuotaGroup,
)
from studies.models import Study
from studies.services.whole_studies.copies import copy_rows
from studies.services.whole_studies.removal import Content

# On Prolific nothing waits for the researcher in these.
_ENDED = ["", "UNPUBLISHED", "COMPLETED"]


def copy_questions(study: Study, copy: Study) -> None:
    """Questions about the annotator, comprehension questions, and empty quota groups."""
    copy_rows(DemographicQuestion.objects.filter(study=study), study_id=copy.pk)
    copy_rows(ComprehensionQuestion.objects.filter(study=study), study_id=copy.pk)
    groups = QuotaGroup.objects.filter(study=study)
    copy_rows(groups, study_id=copy.pk, reserved=0, completed=0)


def content_of(study: Study) -> Content:
    answers = Annotation.objects.filter(assignment__annotator__study=study).count()
    people = Annotator.objects.filter(study=study).count()
    obstacles = []
    if ProlificStudy.objects.filter(study=study).exclude(status__in=_ENDED).exists():
        obstacles.append(
            "The study is not completed on Prolific, so people may still have to be paid. Approve "
            "and pay them first."
        )
    linked = LinkedStudy.objects.filter(first=study).values_list("study__slug", flat=True)
    if slugs := ", ".join(f"“{slug}”" for slug in linked):
        obstacles.append(
            f"People of this study are shown in {slugs}, and could no longer take that back. "
            "Delete these first."
        )
    return Content([("annotators", people), ("answers", answers)], obstacles)
