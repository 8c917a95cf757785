"""Rules meet everything that happens to a study, until a person's data are deleted."""

import pytest
from django.core.management import call_command

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
def test_rules_live_on(row, llm, engine, tmp_path, settings):  # noqa: F811
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    study = Building(row, llm, tmp_path).build()
    call_command("find_rules", study.slug, "--inline")

    lives_on(
        study,
        tmp_path,
        "rules",
        changes=lambda study: call_command("find_rules", study.slug, "--inline"),
    )
