"""People who answer for themselves, or who come back, keep the extra on."""

import pytest
from django.utils import timezone

from extras.own_answers.models import RetestVisit
from extras.own_answers.waves import next_wave
from studies.models import Study
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_annotator, make_items, make_study

pytestmark = pytest.mark.django_db


def test_a_study_whose_people_answer_for_themselves_is_closed_first():
    study = make_study(perspective="own", state="open")
    assert refusal(study, "own_answers").endswith("Close the study first.")

    Study.objects.update(state="closed")
    turn_off(study, "own_answers")


def test_second_visits_are_made_first():
    study = make_study(perspective="own", state="closed")
    for state in ("completed", "completed", "declined"):
        annotator = make_annotator(study=study, state=state)
        RetestVisit.objects.create(annotator=annotator, due_at=timezone.now())
    assert refusal(study, "own_answers").startswith(
        "Second visits that people have not finished: 2."
    )

    RetestVisit.objects.update(finished_at=timezone.now())
    turn_off(study, "own_answers")


def test_a_wave_that_is_under_way_is_closed_first():
    study = make_study(slug="one", state="closed")
    make_items(study, 1)
    wave = next_wave(study_id=study.pk, slug="two")
    Study.objects.filter(pk=wave.pk).update(state="open")
    for each in (study, wave):
        assert "are asked again in “two”. Close that first." in refusal(each, "own_answers")

    Study.objects.filter(pk=wave.pk).update(state="closed")
    turn_off(study, "own_answers")
    turn_off(wave, "own_answers")
