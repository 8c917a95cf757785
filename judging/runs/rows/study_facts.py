"""What all runs of a plan need to know of a study, read once for all of them."""

from functools import cached_property

from judging.errors import BadRun, ConflictingValue, Reason
from judging.models import Judge, JudgeRun, PromptTemplate
from judging.prompts.asking import tasks_of
from judging.runs.rows.row_creation import QuestionItem, questions_of_study
from studies.models import Study
from studies.personas import features as feature_sets

_NO_WORDING = Reason(
    "no_wording", "{field}: this study has no wording “{value}”. Write name or name@version."
)


class RunStudyFacts:
    """Facts of a study, each read when it is first needed.

    They stay as they were read: use them for one estimate, or while the study is locked.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._judges: dict[int, Judge] = {}
        self._wordings: dict[int, PromptTemplate] = {}
        self._questions: dict[int | None, list[QuestionItem]] = {}

    @cached_property
    def feature_keys(self) -> set[str]:
        return feature_sets.known_keys(self.study)

    @cached_property
    def feature_sets(self) -> dict[str, list[str]]:
        return feature_sets.own_sets(self.study)

    @cached_property
    def tasks(self) -> list[str]:
        return tasks_of(self.study)

    @cached_property
    def run_keys(self) -> set[str]:
        """The keys of all runs, to which each new run adds its own."""
        return set(JudgeRun.objects.filter(study=self.study).values_list("key", flat=True))

    def wording(self, pk: int | None) -> PromptTemplate | None:
        """The study's own wording with this id. Raises `BadRun` if it has none."""
        if pk is None:
            return None
        if pk not in self._wordings:
            found = PromptTemplate.objects.filter(study=self.study, pk=pk).first()
            if found is None:
                raise BadRun(f"Study “{self.study.slug}” has no such wording.")
            self._wordings[pk] = found
        return self._wordings[pk]

    def wording_named(self, name: str) -> int | None:
        """The id of a wording, given as "name" or "name@version"; the latest version if none is.

        None for an empty name. Raises `ConflictingValue` if there is none of this name.
        """
        if not name:
            return None
        stem, _, version = name.partition("@")
        found = PromptTemplate.objects.filter(study=self.study, name=stem)
        if version:
            found = found.filter(version=int(version) if version.isdecimal() else 0)
        template = found.order_by("version").last()
        if template is None:
            raise ConflictingValue("wording", _NO_WORDING, value=name)
        self._wordings[template.pk] = template
        return template.pk

    def judge(self, pk: int) -> Judge:
        if pk not in self._judges:
            self._judges[pk] = Judge.objects.get(pk=pk)
        return self._judges[pk]

    def questions(self, limit: int | None) -> list[QuestionItem]:
        """The items of a run whose judge asks about all of them."""
        if limit not in self._questions:
            self._questions[limit] = questions_of_study(self.study, limit)
        return self._questions[limit]
