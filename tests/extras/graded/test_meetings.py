"""Graded answers meet everything that happens to a study, from its items to a person's deletion."""

import pytest

from extras.graded.models import Grades
from extras.graded.setup import set_questions
from studies.models import Study
from tests.judging.conftest import engine, llm  # noqa: F401
from tests.meetings.building import Building
from tests.meetings.later import lives_on
from tests.meetings.people import Person
from tests.meetings.rows import usual

CRITERIA = [{"key": "clear", "name": "Clarity", "description": ""}]
ALL = {"strength": True, "scale": 7, "criteria": True, "reason": "optional"}


class GradingPerson(Person):
    def _send(self, url, **fields):
        if "choice" in fields:
            fields |= {
                "strength": "" if fields["choice"] == "tie" else str(self._rng.randint(1, 3)),
                "score_a": str(self._rng.randint(1, 7)),
                "score_b": str(self._rng.randint(1, 7)),
                "criterion_1": self._rng.choice(["a", "b", "tie"]),
                "reason": f"Because of {self.pid}" if self._rng.random() < 0.5 else "",
            }
        return super()._send(url, **fields)


class GradedBuilding(Building):
    person = GradingPerson

    def _create(self):
        study = super()._create()
        Study.objects.filter(pk=study.pk).update(criteria=CRITERIA)
        set_questions(study_id=study.pk, wanted=ALL, user=None)
        return Study.objects.get(pk=study.pk)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "row",
    [
        usual(),
        usual(answers="some_items", tie="either", truth="some", quotas="full", leaving="reopened"),
        usual(answers="none", run="none", truth="none"),
    ],
)
def test_graded_answers_live_on(row, llm, engine, tmp_path, settings):  # noqa: F811
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    study = GradedBuilding(row, llm, tmp_path).build()

    lives_on(study, tmp_path, "graded")

    assert not Grades.objects.exists()
