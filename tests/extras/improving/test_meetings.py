"""Improvements meet everything that happens to a study, until a person's data are deleted."""

import pytest

from extras.improving.models import Improvement
from studies.services.extras import turn_on
from tests.extras.improving.access import things
from tests.judging.conftest import engine, llm  # noqa: F401
from tests.meetings.building import Building
from tests.meetings.later import lives_on
from tests.meetings.rows import usual

RESULTS = {
    "candidates": [
        {
            "kind": "guidelines",
            "wording": "learned 1: guidelines@4",
            "sha256": "0" * 64,
            "learned": -0.02,
            "learned_ci": [-0.1, 0.06],
            "learned_n": 40,
        }
    ],
    "better": "",
    "learn_n": 40,
    "sealed_n": 40,
    "sealed_personas": 10,
    "has_moved": False,
    "earlier_tried": 0,
}


@pytest.mark.nightly
def test_improvements_live_on(llm, engine, tmp_path, settings):  # noqa: F811
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    study = Building(usual(), llm, tmp_path).build()
    turn_on(study, "improving")
    things(study)
    run = study.judge_runs.filter(judgments__state="done").first()
    Improvement.objects.update(state="done", run=run, results=RESULTS)

    lives_on(study, tmp_path, "improvements")
