"""People of panels meet everything that happens to a study, until a person is deleted."""

import pytest

from extras.panels.models import PanelPerson
from extras.panels.paying import write_payment_file
from tests.extras.panels.builders import make_panel
from tests.judging.conftest import engine, llm  # noqa: F401
from tests.meetings.building import Building
from tests.meetings.later import lives_on
from tests.meetings.rows import usual


@pytest.mark.nightly
@pytest.mark.parametrize(
    "row",
    [
        usual(),
        usual(answers="some_items", tie="either", truth="some", quotas="full", leaving="excluded"),
    ],
)
def test_people_of_panels_live_on(row, llm, engine, tmp_path, settings):  # noqa: F811
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    study = Building(row, llm, tmp_path).build()
    panels = [make_panel(study, preset) for preset in ("mturk", "lucid")]
    PanelPerson.objects.bulk_create(
        PanelPerson(annotator=person, panel=panels[number % 2], person=f"worker-{person.pseudonym}")
        for number, person in enumerate(study.annotators.order_by("pk"))
    )
    write_payment_file(panel=panels[0])

    lives_on(study, tmp_path, "panels")
