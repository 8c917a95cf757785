"""What all runs of a plan need to know of a study, read once for all of them."""

from functools import cached_property

from judging.models import Judge, JudgeRun
from judging.runs.row_creation import QuestionItem, questions_of_study
from judging.worker.prompts import tasks_of
from studies.models import Study
from studies.personas import features as feature_sets


class StudyFacts:
    """Facts of a study, each read when it is first needed.

    They stay as they were read: use them for one estimate, or while the study is locked.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._judges: dict[int, Judge] = {}
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

    def judge(self, pk: int) -> Judge:
        if pk not in self._judges:
            self._judges[pk] = Judge.objects.get(pk=pk)
        return self._judges[pk]

    def questions(self, limit: int | None) -> list[QuestionItem]:
        """The items of a run whose judge asks about all of them."""
        if limit not in self._questions:
            self._questions[limit] = questions_of_study(self.study, limit)
        return self._questions[limit]
