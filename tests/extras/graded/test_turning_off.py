"""People who are asked more than the choice keep the extra on."""

import pytest

from studies.models import Study
from tests.extras.graded.answering import NOTHING, make_graded_study
from tests.extras.turning_off import refusal, turn_off

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", ["open", "paused"])
def test_a_study_that_asks_more_is_closed_first(state):
    study = make_graded_study()
    Study.objects.update(state=state)
    assert refusal(study, "graded").endswith("Close the study first.")

    Study.objects.update(state="closed")
    turn_off(study, "graded")


def test_one_that_asks_for_the_choice_alone_can_turn_it_off():
    turn_off(make_graded_study(asked=NOTHING), "graded")
