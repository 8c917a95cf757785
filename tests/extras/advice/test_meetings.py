"""Debates and advisers meet everything that happens to a study, until a person is deleted."""

import pytest
from django.core.management import call_command

from studies.models import Item, Study
from tests.judging.conftest import engine, llm, make_judge  # noqa: F401
from tests.judging.llm_server import completion
from tests.meetings.building import Building
from tests.meetings.later import lives_on
from tests.meetings.people import Fact
from tests.meetings.rows import usual


class ArmsBuilding(Building):
    """People and judges answer the linked study, in which models argue about the items."""

    def _create(self):
        study = super()._create()
        self._llm.answer = lambda body, number: completion(
            f"My response is the better plan of the two, as I say for the {number}th time."
        )
        make_judge(name="writer", base_url=self._llm.url, price_input=1, price_output=1)
        call_command("debates", study.slug, "--judge", "writer", "--budget", "2", "--inline")
        self.slug = "arms"
        call_command("debates", study.slug, "--new", self.slug)
        return Study.objects.get(slug=self.slug)

    def _facts(self):
        items = Item.objects.filter(study=self.study)
        return {
            each.key: Fact(each.r1["text"], each.r2["text"], each.first_person or "r1")
            for each in items
        }


@pytest.mark.nightly
@pytest.mark.parametrize(
    "row",
    [
        usual(setting="certainty"),
        usual(answers="some_items", tie="either", truth="some", quotas="full", leaving="excluded"),
        usual(answers="none", run="none", truth="none"),
    ],
)
def test_debates_live_on(row, llm, engine, tmp_path, settings):  # noqa: F811
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    study = ArmsBuilding(row | {"setting": "advice"}, llm, tmp_path).build()

    lives_on(study, tmp_path, "arms")
