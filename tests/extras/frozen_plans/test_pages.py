"""The page of a plan: the form that freezes it, and the frozen plan."""

import pytest
from django.urls import reverse

from extras.frozen_plans.models import AnalysisPlan
from tests.analysis.builders import answer, make_rater
from tests.factories import make_item, make_study, sign_in

pytestmark = pytest.mark.django_db

SENT = {
    "hypotheses": "Steady does as well as people.",
    "analyses": ["accuracy", "difference"],
    "judges": "steady\n\nsteady : certainty : none\n",
    "threshold": "80",
    "margin": "0.05",
    "exclusions": "",
    "bootstrap": "1000",
    "seed": "7",
    "final": "on",
}


def page(study):
    return reverse("frozen_plans:plan", args=[study.slug])


def test_an_editor_freezes_a_plan_and_everybody_reads_it():
    study = make_study()
    client = sign_in(study, "editor")

    response = client.post(page(study), SENT, follow=True)

    plan = AnalysisPlan.objects.get()
    assert plan.frozen_by.memberships.get().role == "editor"
    assert [run["features"] for run in plan.content["judges"]] == ["all", "none"]
    shown = response.content.decode()
    assert plan.seal in shown
    assert "before the first answer" in shown
    assert "Freeze plan" not in shown


def test_a_plan_that_is_not_confirmed_is_sent_back_as_it_was():
    study = make_study()
    client = sign_in(study)

    response = client.post(page(study), SENT | {"final": "", "judges": "steady:loud"})

    assert response.status_code == 422
    for words in ("Confirm that the plan is final.", "“loud” is not a setting", SENT["hypotheses"]):
        assert words in response.content.decode()
    assert not AnalysisPlan.objects.exists()


def test_a_late_plan_is_called_late_before_and_after():
    study = make_study()
    client = sign_in(study)
    answer(make_rater(study=study), make_item(study=study), "r1")

    assert "This study already has data" in client.get(page(study)).content.decode()
    client.post(page(study), SENT)

    assert "Frozen after the first data" in client.get(page(study)).content.decode()


def test_a_plan_that_was_tampered_with_is_told_and_breaks_no_other_page():
    study = make_study()
    client = sign_in(study)
    client.post(page(study), SENT)
    AnalysisPlan.objects.update(answers=3)

    assert "does not match its seal" in client.get(page(study)).content.decode()
    assert client.get(reverse("analysis:list", args=[study.slug])).status_code == 200
