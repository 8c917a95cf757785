"""Other personas meet everything that happens to a study, until a person's data are deleted."""

import pytest
from django.core.management import call_command

from studies.models import Study
from tests.judging.conftest import engine, llm  # noqa: F401
from tests.meetings.building import Building
from tests.meetings.later import lives_on
from tests.meetings.rows import usual


class SignalBuilding(Building):
    """The linked study of a row is the one that people and judges answer."""

    def _create(self):
        study = super()._create()
        self.slug = "others"
        call_command("change_personas", study.slug, "--whole", "--new", self.slug)
        return Study.objects.get(slug=self.slug)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "row",
    [
        usual(),
        usual(answers="some_items", tie="either", truth="some", quotas="full", leaving="excluded"),
        usual(answers="none", run="none", setting="certainty"),
    ],
)
def test_other_personas_live_on(row, llm, engine, tmp_path, settings):  # noqa: F811
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    study = SignalBuilding(row, llm, tmp_path).build()

    lives_on(study, tmp_path, "persona_signal")
