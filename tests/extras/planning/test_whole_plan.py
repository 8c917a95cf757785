"""The page of the whole plan: sizes, money, hours, refusals of models, and freezing it."""

from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from django.apps import apps
from django.test.utils import override_settings

from analysis.data.frozen_plan import keeper
from extras.planning.assumptions import Assumptions, compute_queued, forecast_of, request_forecast
from extras.planning.stats.power import simulate_power
from extras.planning.stats.simulated_studies import StudyModel, random_layout
from extras.planning.whole_plan import whole_plan
from judging.backends.known_models import known_models
from judging.models import Attempt
from judging.runs.costs import planned_usage
from studies.models import Study
from studies.services.settings import save_settings
from studies.services.studies import create_study
from tests.factories import make_item, make_persona, sign_in
from tests.judging.conftest import make_judge

pytestmark = pytest.mark.django_db
NAME = "personalized-judge"
URL = "/studies/again/planning/plan/"
FEATURES = ("residence_country", "education", "ethnicity")


def study_again(items: int = 40) -> Study:
    study = create_study(slug="again", preset=NAME, entry="link")
    features = [
        {"key": key, "label": key, "value": "x", "text": f"Their {key} is x."} for key in FEATURES
    ]
    for _ in range(items):
        make_item(study=study, persona=make_persona(study=study, features=features))
    return study


def words(response) -> str:
    return " ".join(response.content.decode().split())


def test_the_page_says_what_is_planned():
    shown = words(sign_in(study_again()).get(URL))

    assert "From the preset “The paper’s study, again”" in shown
    assert "certainty, features residence_country, education, ethnicity, both orders" in shown
    assert "tie, all features, both orders" in shown
    assert "Quota groups: gender: woman" in shown
    assert "unknown (no price)" in shown


@pytest.mark.nightly
def test_300_and_1500_items_find_the_differences_of_the_docs_and_200_people_smaller_ones():
    study = create_study(slug="again", preset=NAME, entry="link")
    assumed = Assumptions.of(study, items_there=300)
    job = request_forecast(study_id=study.pk, assumed=assumed, user=None)

    designs = compute_queued(forecast_id=job.pk).result["designs"]

    sizes = {(design["items"], design["answers"]): design for design in designs}
    assert sizes[300, 3]["detectable"]["value"] == pytest.approx(0.131, abs=0.004)
    assert sizes[1500, 3]["detectable"]["value"] == pytest.approx(0.056, abs=0.003)
    assert sizes[2000, 3]["detectable"]["value"] < sizes[1500, 3]["detectable"]["value"]
    assert (sizes[300, 3]["annotators"], sizes[2000, 3]["annotators"]) == (30, 200)
    shown = words(sign_in(study).get(URL))
    assert "(what 200 people can do)" in shown
    assert "13.1 points" in shown


@pytest.mark.parametrize(
    ("items", "found"), [(300, 0.145), pytest.param(1500, 0.062, marks=pytest.mark.nightly)]
)
def test_items_that_share_personas_and_questions_find_larger_differences(items, found):
    """As many personas and questions as the demo has, from which the docs take their numbers."""
    each = np.arange(300)
    layout = random_layout(
        each % 20,
        each // 20,
        n_items=items,
        answers=3,
        per_annotator=30,
        rng=np.random.default_rng(1),
    )

    power = simulate_power(StudyModel(0.6), layout, (0.0,), rng=np.random.default_rng(2))

    assert power.detectable.value == pytest.approx(found, abs=0.004)


def test_the_cost_of_a_judge_is_its_tokens_times_its_price_and_nothing_is_asked():
    study = study_again()
    make_judge(
        name="one",
        base_url="http://gpu1/v1",
        price_input=Decimal(2),
        price_output=Decimal(10),
        price_day=date(2020, 1, 1),
    )

    plan = whole_plan(study)

    usage = planned_usage(study, plan.runs.each)
    assert usage == plan.usage
    assert usage.questions == 40 * 2 * 5
    expected = (usage.prompt_tokens * 2 + usage.completion_tokens * 10) / 10**6
    [judge] = plan.judges
    assert float(judge.cost[1:]) == pytest.approx(expected, rel=0.1)
    assert "1 January 2020" in judge.remarks[0]
    assert not Attempt.objects.exists()


def test_unknown_prices_old_prices_and_refusals_are_said_of_each_model():
    rows = {row.preset: row for _, group in whole_plan(study_again()).models for row in group}

    assert {*rows} == {name for name, known in known_models().items() if known.group != "earlier"}
    assert rows["mistral-large-4"].cost == "unknown (no price)"
    assert rows["gemma-4-31b-it"].cost == "unknown (no price)"
    assert "finds no ties" in rows["prometheus-7b-v2.0"].remarks[0]
    assert "$0.00" not in {row.cost for row in rows.values()}
    assert any("13 May 2024" in remark for remark in rows["gpt-4o-2024-05-13"].remarks)


def test_before_there_are_items_the_cost_of_judges_is_unknown():
    plan = whole_plan(create_study(slug="again", preset=NAME))

    assert plan.usage is None
    assert (plan.people.items, plan.people.people) == (300, 30)
    costs = {row.cost for _, rows in plan.models for row in rows}
    assert costs == {"unknown before there are items", "unknown (no price)"}


@pytest.mark.parametrize(("fee", "total"), [(None, "unknown"), (Decimal("0.428"), "$192.78")])
def test_the_fee_of_the_platform_is_added_or_called_unknown(fee, total):
    study = create_study(slug="again", preset=NAME)

    with override_settings(RECRUITING_FEE=fee, RECRUITING_TAX=Decimal(0)):
        shown = words(sign_in(study).get(URL))

    assert f"<dt>People in total</dt><dd>{total}</dd>" in shown
    assert ("fee is unknown" in shown) == (fee is None)
    assert "10 (30 × 20 minutes)" in shown


def test_such_a_study_is_forecast_again_when_its_seats_change():
    study = study_again()
    study.human_sample = 40
    save_settings(study, changed=["human_sample"])
    first = forecast_of(study.pk)

    study.annotations_per_item = 5
    save_settings(study, changed=["annotations_per_item"])

    assert first.assumptions["items"] == 40
    assert (first.assumptions["answers"], forecast_of(study.pk).assumptions["answers"]) == (3, 5)


@pytest.mark.skipif(not apps.is_installed("extras.frozen_plans"), reason="nothing keeps plans")
def test_a_press_freezes_the_planned_runs_of_the_chosen_judges():
    study = study_again()
    make_judge(name="one", base_url="http://gpu1/v1")
    editor = sign_in(study)

    refused = editor.post(URL, {"do": "freeze", "judges": ["one"]})
    assert refused.status_code == 422
    assert "Confirm that the plan is final" in words(refused)
    sent = {"do": "freeze", "judges": ["one"], "final": "on", "hypotheses": "They agree."}
    assert editor.post(URL, sent).status_code == 302

    content = keeper().content(study)
    assert [(run["setting"], run["features"]) for run in content["judges"]] == [
        ("certainty", "all"),
        ("certainty", "three_paper"),
        ("certainty", "education"),
        ("certainty", "none"),
        ("tie", "all"),
    ]
    assert content["sealed"]["items"]["n"] == 40
    assert content["hypotheses"] == "They agree."
    assert "The plan is frozen" in words(editor.get(URL))
    again = editor.post(URL, sent)
    assert again.status_code == 422
    assert "cannot be changed" in words(again)


def test_a_viewer_sees_the_plan_and_changes_nothing():
    viewer = sign_in(study_again(), role="viewer")

    assert "What is planned" in words(viewer.get(URL))
    assert viewer.post(URL, {"do": "forecast"}).status_code in (403, 404)
    assert viewer.post(URL, {"do": "freeze", "final": "on"}).status_code in (403, 404)


def test_without_a_preset_the_usual_setting_is_planned():
    study = create_study(slug="plain", extras=["planning"])
    make_item(study=study)

    assert whole_plan(study).runs.each == [("certainty", "all", "both")]
