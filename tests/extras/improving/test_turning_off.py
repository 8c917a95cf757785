"""An improvement that is under way keeps the extra on."""

import pytest

from extras.improving.models import Improvement
from tests.extras.improving.access import things
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def test_an_improvement_ends_first():
    study = make_study(slug="s")
    things(study)
    assert refusal(study, "improving") == (
        "An improvement of a judge is in progress. Wait for its end."
    )

    Improvement.objects.update(state="done")
    turn_off(study, "improving")
