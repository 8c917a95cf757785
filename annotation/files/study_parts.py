"""The annotators' part of a study, for copying and deleting it."""

from collections.abc import Collection, Iterable

from annotation.models import (
    Annotation,
    Annotator,
    Assignment,
    ComprehensionQuestion,
    DemographicQuestion,
    ProlificStudy,
    QuotaGroup,
)
from studies.models import Study
from studies.services.whole_studies import StudyContent, copy_rows

# Statuses on Prolific that need nothing from the researcher.
_ENDED = ["", "UNPUBLISHED", "COMPLETED"]


def copy_questions(study: Study, copy: Study) -> None:
    """Questions about the annotator, comprehension questions, and empty quota groups."""
    copy_rows(DemographicQuestion.objects.filter(study=study), study_id=copy.pk)
    copy_rows(ComprehensionQuestion.objects.filter(study=study), study_id=copy.pk)
    groups = QuotaGroup.objects.filter(study=study)
    copy_rows(groups, study_id=copy.pk, reserved=0, completed=0)


def given_items(study: Study) -> Iterable[str]:
    """The keys of the items that annotators were given."""
    assignments = Assignment.objects.filter(annotator__study=study).order_by()
    return assignments.values_list("item__key", flat=True).distinct()


def content_of(study: Study) -> StudyContent:
    answers = Annotation.objects.filter(assignment__annotator__study=study).count()
    people = Annotator.objects.filter(study=study).count()
    obstacles = []
    if ProlificStudy.everything.filter(study=study).exclude(status__in=_ENDED).exists():
        obstacles.append(
            "The study is not completed on Prolific, so participants may still have to be paid. "
            "Approve and pay them first."
        )
    return StudyContent([("annotators", people), ("answers", answers)], obstacles)


def wait_for_answers(study: Study, items: Collection[int]) -> None:
    """Lock seats at items to be deleted, after any answer that is being stored."""
    seats = Assignment.objects.select_for_update(no_key=False).filter(item__in=items).order_by("pk")
    list(seats.values_list("pk"))
