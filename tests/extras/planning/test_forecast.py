"""A forecast as a command, as a job of a worker, and on pages."""

import json
from decimal import Decimal
from unittest.mock import patch

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from analysis.errors import BadParameters
from extras.planning import wording
from extras.planning.assumptions import Assumptions, compute_queued, forecast_of, request_forecast
from extras.planning.models import PowerForecast
from extras.planning.sources import rates_of
from studies.models import Study
from studies.pages.overview_views import setup
from tests.analysis.builders import random_study
from tests.factories import make_items, make_study, sign_in

pytestmark = pytest.mark.django_db
URL = "/studies/plan/planning/"


def small_study(**overrides) -> Study:
    settings = {"slug": "plan", "state": "draft", "items_per_annotator": 10, "entry": "link"}
    study = make_study(**settings | overrides)
    make_items(study, 40)
    return study


@pytest.fixture
def plain(monkeypatch):
    """No other sizes, which only repeat the work."""
    monkeypatch.setattr("extras.planning.forecast.SIZES", (2.0,))
    monkeypatch.setattr("extras.planning.forecast.ANSWERS", (3,))


def computed(study: Study, **chosen) -> PowerForecast:
    assumed = Assumptions.of(study, items_there=40, **chosen)
    return compute_queued(
        forecast_id=request_forecast(study_id=study.pk, assumed=assumed, user=None).pk
    )


def test_the_command_says_what_the_study_can_show_and_what_it_costs(capsys):
    small_study()

    call_command("plan", "plan", "--items", "90", "--accuracy-judge", "0.8")

    shown = capsys.readouterr().out
    assert shown.startswith("With 90 items and 3 answers each, a judge that is truly ")
    assert "is found to be better in about" in shown
    assert "Detectable four times out of five:" in shown
    assert "$121.50" in shown  # 27 people at $4.50 without a platform
    assert "alternative annotator test has no power with 10 items" in shown
    assert "Accuracy of a judge" in shown
    assert "chosen" in shown


def test_the_command_prints_json_and_takes_people_instead_of_items_of_each(capsys):
    small_study()

    call_command("plan", "plan", "--annotators", "12", "--json")

    found = json.loads(capsys.readouterr().out)
    design = found["designs"][0]
    chances = design["outcomes"][0]["chances"]
    states = ("better", "worse", "equivalent", "cannot_tell")
    assert (design["annotators"], design["per_annotator"], design["draws"]) == (12, 10, 2000)
    assert sum(chances[state]["value"] for state in states) == pytest.approx(1)
    assert found["assumptions"]["chosen"] == ["per_annotator"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--items", "20"], r"“Items” is .*\. Use 30"),
        (["--per-annotator", "50"], "cannot answer 50 of 40 items"),
        (["--per-annotator", "5", "--annotators", "9"], "not both"),
        (["--items", "90000"], "too many to simulate"),
        (["--draws", "100"], "Use 2000"),
        (["--pilot", "plan"], "no answers to items with a known right answer"),
    ],
)
def test_the_command_refuses_what_cannot_be_simulated(words, message):
    small_study()

    with pytest.raises(CommandError, match=message) as error:
        call_command("plan", "plan", *words)

    assert error.value.returncode == 2


def test_a_study_without_items_needs_their_number(capsys):
    make_study(slug="empty", state="draft", entry="link")

    with pytest.raises(CommandError, match="enter their number"):
        call_command("plan", "empty")
    call_command("plan", "empty", "--items", "40", "--answers", "1")

    assert "With 40 items and one answer each" in capsys.readouterr().out


@pytest.mark.nightly
def test_a_pilot_replaces_defaults_but_not_what_was_chosen(plain):
    pilot = random_study(1).slug
    study = small_study()

    found = computed(study, pilot=pilot, sd_item=1.5).result

    sources = {name: source for name, _, source in wording.assumed_lines(found)}
    assert found["assumptions"]["sd_item"] == 1.5
    assert found["assumptions"]["accuracy_people"] == round(found["pilot"]["accuracy"], 4)
    assert sources["SD of items (logit)"] == "chosen"
    assert sources["Accuracy of one person"] == f"pilot {pilot}"
    assert sources["SD of people (logit)"].startswith(f"pilot {pilot} (95 % interval")


@pytest.mark.nightly
def test_a_job_that_fails_keeps_the_forecast_before_it(plain):
    study = small_study()
    before = computed(study).result

    job = computed(study, pilot="plan")

    assert job.state == "failed"
    assert "no answers to items" in job.message
    assert job.result == before


def test_asking_twice_queues_once_and_other_values_replace_it(django_capture_on_commit_callbacks):
    study = small_study()
    with (
        patch("extras.planning.assumptions.queue") as queued,
        django_capture_on_commit_callbacks(execute=True),
    ):
        one, other = (Assumptions.of(study, items_there=n) for n in (40, 60))
        first = request_forecast(study_id=study.pk, assumed=one, user=None)
        request_forecast(study_id=study.pk, assumed=one, user=None)
        changed = request_forecast(study_id=study.pk, assumed=other, user=None)

    assert queued.call_count == 2
    assert first.pk == changed.pk
    assert forecast_of(study.pk).assumptions["items"] == 60


def test_even_numbers_of_answers_are_warned_of():
    study = small_study()
    assumed = Assumptions.of(study, items_there=40, answers=2)
    from extras.planning.forecast import warnings_of

    found = warnings_of(assumed, {"too_few": ["annotator"], "annotators": 8})

    assert any("tied on some items" in warning for warning in found)
    assert any("too few people" in warning for warning in found)


def test_fee_and_tax_come_from_the_settings_until_prolific_states_them(monkeypatch):
    study = make_study(entry="prolific")
    assert rates_of(study).fee is None

    monkeypatch.setattr(settings, "RECRUITING_FEE", Decimal("0.333"))
    monkeypatch.setattr(settings, "RECRUITING_TAX", Decimal("0.2"))

    assert (rates_of(study).fee, rates_of(study).tax) == (Decimal("0.333"), Decimal("0.2"))
    assert rates_of(make_study(entry="link")).fee == 0


def test_unknown_assumptions_are_refused():
    with pytest.raises(BadParameters, match="no items yet"):
        Assumptions.of(make_study(), items_there=0)


@pytest.mark.nightly
def test_the_page_computes_and_shows_a_forecast(plain, django_capture_on_commit_callbacks):
    study = small_study()
    client = sign_in(study)
    assert "Compute a forecast" in client.get(URL).content.decode()

    with (
        patch("extras.planning.assumptions.queue") as queued,
        django_capture_on_commit_callbacks(execute=True),
    ):
        response = client.post(URL, {"items": "60", "accuracy_people": "0.7"})
    waiting = client.get(URL).content.decode()
    status = client.get(f"{URL}?progress").json()
    task, forecast_id = queued.call_args.args
    task(forecast_id)
    page = client.get(URL, {"design": "120x3"}).content.decode()
    assert "The next 100 USD" in page
    assert "As many items of new personas" in page

    assert response.headers["Location"] == URL
    assert 'id="job"' in waiting
    assert status["open"] is True
    assert "With 120 items and 3 answers each" in page
    assert "60 items × 3 answers (as planned)" in page
    assert "Not worse" in page


def test_the_page_names_a_wrong_value():
    study = small_study()

    response = sign_in(study).post(URL, {"per_annotator": "90"})

    assert response.status_code == 422
    assert "One person cannot answer 90 of 40 items" in response.content.decode()


@pytest.mark.nightly
def test_the_launch_page_says_what_the_study_can_show(plain):
    study = small_study()
    client = sign_in(study)
    assert "is not computed yet" in client.get("/studies/plan/launch/").content.decode()

    computed(study)

    page = client.get("/studies/plan/launch/").content.decode()
    assert "With 40 items and 3 answers each, a judge that is truly 5 points better" in page
    assert page.index("What this size shows") < page.index("</main>")

    Study.objects.filter(pk=study.pk).update(annotations_per_item=2)
    page = client.get("/studies/plan/launch/").content.decode()
    assert "With 40 items and 3 answers" not in page
    assert "is not computed yet" in page


def plan_line(study: Study):
    (task,) = [task for task in setup(Study.objects.get(pk=study.pk)).tasks if task.key == "plan"]
    return str(task.state), task.summary


@pytest.mark.nightly
@pytest.mark.usefixtures("plain")
def test_the_set_up_list_has_the_plan_as_a_step_that_nobody_must_take():
    study = small_study()
    before = setup(study)

    computed(study)
    after = plan_line(study)
    Study.objects.update(annotations_per_item=5)

    assert plan_line(small_study(slug="other"))[0] == "not_started"
    assert "plan" not in [task.key for task in before.needed]
    state, words = after
    assert state == "done"
    assert words == (
        "Detects no difference in four studies of five; finds a judge 5 points better in about "
        "5 of 100"
    )
    assert plan_line(study) == (
        "attention",
        "Computed for 40 items and 3 answers; the study has 40 items and 5 answers",
    )


def test_the_line_of_a_larger_study_names_the_difference_that_it_detects():
    chance = {"value": 0.14, "low": 0.13, "high": 0.15}
    design = {
        "too_few": [],
        "detectable": {"value": 0.145},
        "expected": None,
        "outcomes": [{"difference": 0.05, "chances": {"better": chance}}],
    }

    assert wording.summary_of(design) == (
        "Detects 14.5 points in four studies of five; finds a judge 5 points better in about "
        "14 of 100"
    )
    assert wording.summary_of(design | {"too_few": ["annotator"]}).startswith("Too few people")
