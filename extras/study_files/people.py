"""The annotators' part of a study's design as files."""

from django.contrib.auth.models import User

from annotation.content.comprehension import as_toml, questions_of, read_questions, set_questions
from annotation.errors import AnnotationError
from annotation.seats import quotas
from annotation.seats.quotas import plan_to_toml, read_plan
from studies.errors import StudyError
from studies.models import Study
from studies.study_folder import Folder


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
