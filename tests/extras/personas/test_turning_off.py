"""Texts that a judge is writing keep the extra on."""

import pytest

from extras.personas.models import DraftingJob
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def test_the_writing_of_profile_texts_ends_first():
    study = make_study()
    DraftingJob.objects.create(study=study, judge_name="j")
    assert "is writing profile texts" in refusal(study, "personas")

    DraftingJob.objects.update(state="done")
    turn_off(study, "personas")
