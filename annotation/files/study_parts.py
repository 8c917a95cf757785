"""The annotators' part of a study: as files, and for copying and deleting the study."""

from collections.abc import Collection

from django.contrib.auth.models import User

from annotation.content.comprehension import as_toml, questions_of, read_questions, set_questions
from annotation.errors import AnnotationError
from annotation.models import (
    Annotation,
    Annotator,
    Assignment,
    ComprehensionQuestion,
    DemographicQuestion,
    ProlificStudy,
    QuotaGroup,
)
from annotation.seats import quotas
from annotation.seats.quotas import plan_to_toml, read_plan
from studies.errors import StudyError
from studies.models import Study
from studies.services.whole_studies import StudyContent, copy_rows
from studies.study_files.folder import Folder


class Quotas:
    """quotas.toml: questions of “About you” and quota groups, as `set_quotas` reads them."""

    name, file = "quotas", "quotas.toml"

    def write(self, study: Study) -> dict[str, str]:
        groups = [quotas.Quota(group.target, group.criteria) for group in study.quota_groups.all()]
        return {self.file: plan_to_toml(quotas.questions_of(study), groups)}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        try:
            questions, groups = read_plan(folder.text(file))
            quotas.set_quotas(study_id=study.pk, questions=questions, groups=groups, user=user)
        except AnnotationError as error:
            raise StudyError(f"{file}: {error}") from error
        return []


class Comprehension:
    """comprehension.toml: the questions of the comprehension check, as the page shows them."""

    name, file = "comprehension", "comprehension.toml"

    def write(self, study: Study) -> dict[str, str]:
        return {self.file: as_toml(questions_of(study))}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        try:
            set_questions(study_id=study.pk, questions=read_questions(folder.text(file)), user=user)
        except AnnotationError as error:
            raise StudyError(f"{file}: {error}") from error
        return []


# Statuses on Prolific that need nothing from the researcher.
_ENDED = ["", "UNPUBLISHED", "COMPLETED"]


def copy_questions(study: Study, copy: Study) -> None:
    """Questions about the annotator, comprehension questions, and empty quota groups."""
    copy_rows(DemographicQuestion.objects.filter(study=study), study_id=copy.pk)
    copy_rows(ComprehensionQuestion.objects.filter(study=study), study_id=copy.pk)
    groups = QuotaGroup.objects.filter(study=study)
    copy_rows(groups, study_id=copy.pk, reserved=0, completed=0)


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
