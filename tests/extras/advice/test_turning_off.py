"""Arguments that are being written, and people who take part in arms, keep the extra on."""

import pytest

from extras.advice.models import ArgumentJob
from studies.models import Study
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def test_the_writing_of_arguments_ends_first():
    study = make_study()
    ArgumentJob.objects.create(study=study, judge_name="j", rounds=1, words=50, seed=1)
    assert "is writing arguments" in refusal(study, "advice")

    ArgumentJob.objects.update(state="done")
    turn_off(study, "advice")


@pytest.mark.parametrize("state", ["open", "paused"])
def test_a_study_with_arms_is_closed_first(state):
    study = make_study(state=state, source={"advice_arms": {"arms": ["none", "debate"]}})
    assert refusal(study, "advice").endswith("Close the study first.")

    Study.objects.update(state="closed")
    turn_off(study, "advice")
