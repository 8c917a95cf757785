"""Marks and departures: what was registered in a plan, told apart from what was explored."""

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone
from django.utils.html import strip_tags

from analysis.data.dataset import load_dataset
from analysis.data.views import View
from analysis.lifecycle.build_job import write_report
from analysis.report.build import all_tables, build_report
from analysis.report.registration import mark_of, table_mark
from analysis.report.render import render_html
from analysis.report.report_json import without_people
from annotation.services.endings import exclude
from extras.frozen_plans.freezing import freeze_plan
from extras.frozen_plans.models import AnalysisPlan
from judging.prompts.asking import Asking, tasks_of
from studies.models import Item
from studies.services.settings import save_settings
from studies.statements import clock
from tests.analysis.builders import (
    answer,
    assert_verified,
    judge_item,
    little_study,
    make_rater,
    make_run,
    random_study,
)
from tests.analysis.test_sources import page_of
from tests.extras.frozen_plans.made import PLAN, STEADY, before_data
from tests.factories import make_item

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _words_of_the_builders(monkeypatch, request):
    """Runs of the builders were never asked; they have this hash in place of one of words."""
    if "real_words" not in request.fixturenames:
        monkeypatch.setattr("extras.frozen_plans.plans._prompt", lambda study, judge: "0" * 64)


@pytest.fixture
def real_words():
    """The words of planned runs are hashed as they are."""


def built(study, **options):
    return build_report(load_dataset(study.slug), **{"seed": 20240701, "bootstrap": 1000} | options)


def mark_of_table(report, name):
    return table_mark(report, all_tables(report)[name])


@pytest.mark.nightly
def test_a_planned_analysis_of_a_planned_run_is_registered_and_nothing_else():
    study = random_study(32)
    before_data(study)

    report = built(study)

    planned = next(i for i, j in enumerate(report["judges"]) if j["setting"] == "certainty")
    other = next(i for i, j in enumerate(report["judges"]) if j["setting"] == "tie")
    assert mark_of(report, ["human", "majority", "accuracy"]) == "registered"
    assert mark_of(report, ["judges", planned, "high", "accuracy"]) == "registered"
    assert mark_of(report, ["judges", other, "high", "accuracy"]) == "explored"
    assert mark_of(report, ["comparison", planned, "mcnemar", "p"]) == "registered"
    assert mark_of(report, ["comparison", planned, "difference", "state"]) == "explored"
    assert mark_of(report, ["comparison", planned, "alt_test", "omega"]) == "explored"
    assert mark_of(report, ["judges", planned, "cost", "usd"]) is None
    assert mark_of_table(report, "table_b").word == "registered, in part"
    assert mark_of_table(report, "agreement").mark == "explored"
    assert mark_of_table(report, "cost") is None


@pytest.mark.parametrize(
    ("asked", "explored"),
    [
        ({"threshold": 70}, ["human", "majority", "high", "accuracy"]),
        ({"seed": 1}, ["human", "agreement", "percent_ci", 0]),
    ],
)
def test_another_threshold_or_seed_makes_explored_what_depends_on_it(asked, explored):
    study = little_study(33)
    before_data(study, analyses=["accuracy", "certain", "agreement"])

    report = built(study, **asked)

    ((name, done),) = asked.items()
    (departure,) = report["registration"]["departures"]
    assert (departure["what"], departure["done"]) == (name, done)
    assert mark_of(report, explored) == "explored"
    assert mark_of(report, ["human", "majority", "accuracy"]) == "registered"


def test_every_number_of_a_plan_leads_to_its_row():
    study = little_study(33)
    before_data(study)

    page = page_of(built(study, threshold=70))

    leads = [link.removeprefix("#") for link in page.links if link.startswith("#from-")]
    assert {"from-registration.plan.margin", "from-registration.departures.0.done"} <= {*leads}
    assert set(leads) <= set(page.ids)
    assert not page.bare


def test_excluding_somebody_against_the_plan_makes_everything_explored():
    study = little_study(35)
    before_data(study)
    excluded = make_rater(study=study, excluded_at=study.created_at, exclusion_reason="hasty")
    answer(excluded, make_item(study=study), "r1")

    report = built(study)

    assert mark_of(report, ["human", "majority", "accuracy"]) == "explored"
    assert report["registration"]["departures"][0]["done"] == "1 person is excluded"


def test_a_planned_run_that_was_not_made_is_named():
    study = little_study(36)
    before_data(study, judges=[STEADY, {**STEADY, "judge": "absent"}])

    departures = built(study)["registration"]["departures"]

    assert departures == [
        {"what": "judge", "planned": "absent (certainty, all)", "done": "not run", "affects": []}
    ]


def test_a_run_that_was_not_planned_is_named_where_nothing_was_changed():
    study = little_study(36)
    before_data(study, judges=[{**STEADY, "setting": "tie"}])
    report = built(study)
    report["registration"]["departures"] = []

    names = ", ".join(judge["judge"] for judge in report["judges"])
    assert f"changed from the plan. These runs were not planned: {names}." in page_words(report)


def test_a_plan_after_the_first_judgment_says_so_and_registers_nothing():
    study = little_study(37)
    plan = freeze_plan(study_id=study.pk, **PLAN)

    report = built(study)

    assert not plan.is_before_data
    assert report["registration"]["plan"]["before_data"] is False
    assert mark_of(report, ["human", "majority", "accuracy"]) == "late"
    marks = {entry["mark"] for entry in report["registration"]["analyses"]}
    assert marks == {"late", "explored"}


def page_words(report):
    page = render_html(report, date=timezone.now().date())
    return strip_tags(page[page.index("<main") : page.index("</main>")]).replace("&#x27;", "'")


def test_a_frozen_plan_stands_above_settings_that_are_changed_later():
    study = little_study(1, frozen_at=timezone.now())
    before_data(study)

    study.certainty_threshold = 70
    save_settings(study, changed=["certainty_threshold"])
    report = built(study, bootstrap=100)

    assert report["registration"]["late_changes"] == []
    assert report["parameters"]["threshold"] == 80
    assert all_tables(report)["table_b"].threshold == "80, registered"


def test_a_plan_after_the_data_with_another_threshold_is_a_late_change():
    study = little_study(1, frozen_at=timezone.now())
    freeze_plan(study_id=study.pk, **PLAN, threshold=70)
    day = f"{timezone.now():%Y-%m-%d}"
    # Settings that are changed under a plan change nothing.
    study.certainty_threshold = 60
    save_settings(study, changed=["certainty_threshold"])

    report = built(study)

    assert report["registration"]["late_changes"] == [
        {"setting": "threshold", "before": 80, "after": 70, "on": day}
    ]
    assert report["parameters"]["threshold_chosen"] == "post hoc"
    assert all_tables(report)["table_b"].threshold == "70, changed after the first data"


def item_departures(report):
    return [d for d in report["registration"]["departures"] if d["what"] == "items"]


def add_items(study, n, *, truth="r1"):
    """Items that come later, with answers of the people and the judge who are there."""
    people, run = list(study.annotators.all()), study.judge_runs.get(setting="certainty")
    for number in range(n):
        item = make_item(study=study, key=f"late-{number}", first_person=truth)
        for person in people[number % 3 :][:3]:
            answer(person, item, "r1" if number % 2 else "r2", 60)
        judge_item(run, item, truth, 90)


def test_items_that_come_after_the_plan_are_a_departure_and_stand_beside_what_was_registered():
    study = little_study(43)
    before_data(study, bootstrap=100)
    first = built(study, bootstrap=100)
    sealed = first["inputs"]["items"]

    add_items(study, 6)
    report = built(study, bootstrap=100)

    found = report["registration"]
    (departure,) = item_departures(report)
    assert departure["planned"].startswith(f"{sealed} items (")
    assert departure["done"] == f"{sealed + 6} items: 6 added"
    assert mark_of(report, ["human", "majority", "accuracy"]) == "explored"
    alone = found["as_registered"]
    for key in ("n", "correct", "accuracy"):
        assert alone["majority"][key] == first["human"]["majority"][key]
    assert alone["majority"]["ci"] == first["human"]["majority"]["clusters"]["ci"]
    of_run = {judge["run"]: judge["accuracy"] for judge in first["judges"]}
    assert [judge["accuracy"] for judge in alone["judges"]] == [
        of_run[judge["run"]] for judge in alone["judges"]
    ]
    assert alone["state"] == first["headline"]["state"]
    assert all_tables(report)["as_registered"].rows[0][1]["n"] == alone["majority"]["n"]
    assert first["registration"]["as_registered"] is None


def test_items_that_are_not_the_sealed_ones_any_more_are_told_with_those_that_are_gone():
    study = little_study(44)
    before_data(study, bootstrap=100)
    changed, faulty, *_ = Item.objects.filter(study=study).order_by("key")

    Item.objects.filter(pk=changed.pk).update(
        first_person="r1" if changed.first_person == "r2" else "r2"
    )
    Item.objects.filter(pk=faulty.pk).update(split=Item.Split.LEFT_OUT)
    (departure,) = item_departures(built(study, bootstrap=100))
    Item.everything.filter(pk=faulty.pk).update(split=Item.Split.MAIN)
    (later,) = load_dataset(study.slug).departures

    assert departure["done"].endswith(" items: 1 changed, 1 taken out")
    assert later.done.endswith(" items: 1 changed")


def test_data_as_of_a_moment_have_the_plan_and_the_settings_of_then():
    study = little_study(44)
    before = clock.now().isoformat()
    freeze_plan(study_id=study.pk, **PLAN, threshold=60)
    after = clock.now().isoformat()

    early, late = (load_dataset(study.slug, View(as_of=at)) for at in (before, after))

    assert (early.plan, early.study.certainty_threshold) == (None, 80)
    assert late.plan is not None
    assert late.study.certainty_threshold == 60
    assert [each.what for each in late.departures] == ["another view"]


def test_a_design_that_is_changed_after_the_plan_is_a_departure_with_day_and_account():
    study = little_study(45, annotations_per_item=3)
    before_data(study, bootstrap=100)
    user = User.objects.create(username="ada")

    study.annotations_per_item = 5
    save_settings(study, changed=["annotations_per_item"], user=user)
    report = built(study, bootstrap=100)

    departure, people = report["registration"]["departures"]
    day = f"{timezone.now():%Y-%m-%d}"
    assert (people["what"], people["on"], people["by"]) == ("number of people", day, "ada")
    assert int(people["done"].replace(",", "")) > int(people["planned"].replace(",", ""))
    assert [departure[key] for key in ("what", "planned", "done", "on", "by")] == [
        *("answers per item", "3", "5", day, "ada")
    ]
    assert mark_of(report, ["human", "majority", "accuracy"]) == "explored"


def test_a_planned_run_that_was_asked_with_other_words_is_a_departure(real_words):
    study = little_study(47)
    before_data(study, bootstrap=100)
    run = study.judge_runs.get(setting="certainty")
    words = AnalysisPlan.objects.get().content["sealed"]["prompts"][0]

    study.judge_runs.filter(pk=run.pk).update(prompt_hash=words)
    same = built(study, bootstrap=100)
    study.judge_runs.filter(pk=run.pk).update(prompt_hash="f" * 64)
    other = built(study, bootstrap=100)

    assert words == Asking.of(run).sha256(tasks_of(study))
    assert same["registration"]["departures"] == []
    assert other["registration"]["departures"][0]["what"] == "wording for steady"


def test_other_words_of_one_run_leave_people_and_other_runs_registered():
    study = little_study(48)
    other = make_run(study=study, judge="other", prompt_hash="0" * 64)
    for item in Item.objects.filter(study=study):
        judge_item(other, item, "r1", 60)
    before_data(study, bootstrap=100, judges=[STEADY, STEADY | {"judge": "other"}])
    changed = study.judge_runs.get(setting="certainty", judge__name="steady")
    study.judge_runs.filter(pk=changed.pk).update(prompt_hash="f" * 64)

    report = built(study, bootstrap=100)

    (departure,) = report["registration"]["departures"]
    assert (departure["run"], departure["on"]) == (changed.key, f"{timezone.now():%Y-%m-%d}")
    assert departure["by"]
    assert not {"accuracy", "certain", "difference"} & {*departure["affects"]}
    place = {judge["run"]: n for n, judge in enumerate(report["judges"])}
    marks = {key: mark_of(report, ["judges", n, "accuracy"]) for key, n in place.items()}
    assert (marks[changed.key], marks[other.key]) == ("explored", "registered")
    assert mark_of(report, ["human", "majority", "accuracy"]) == "registered"
    assert mark_of(report, ["headline", "state"]) == "explored"


@pytest.mark.nightly
def test_other_values_than_the_plans_are_told_with_the_day_and_who_asked(tmp_path):
    study = little_study(49)
    before_data(study, bootstrap=100)

    result = write_report(
        study.slug,
        out=tmp_path / "r",
        threshold=70,
        seed=3,
        bootstrap=100,
        by="ada",
        on="2026-05-04",
    )

    told = {each["what"]: (each["on"], each["by"]) for each in result["registration"]["departures"]}
    assert told == dict.fromkeys(("threshold", "seed"), ("2026-05-04", "ada"))
    assert "changed on 2026-05-04 by ada" in page_words(result)
    assert_verified(tmp_path / "r")


def test_an_exclusion_is_told_whatever_the_plan_says_and_whatever_became_of_the_answers():
    study = little_study(48)
    before_data(study, bootstrap=100, exclusions="Who fails both checks.")
    person, user = (
        study.annotators.order_by("pseudonym").first(),
        User.objects.create(username="ada"),
    )
    Item.objects.filter(study=study).update(seats_needed=9, seats_taken=9, answered=9)
    study.annotators.update(state="completed", is_imported=False)
    exclude(annotator_id=person.pk, reason="Too fast.", user=user, reopen_seats=True)

    report = built(study, bootstrap=100)

    (row,) = report["human"]["exclusions"]
    assert report["human"]["not_counted"]["excluded_people"] == 1
    day = f"{timezone.now():%Y-%m-%d}"
    assert (
        row
        | {
            "rater": person.pseudonym,
            "reason": "Too fast.",
            "on": day,
            "by": "ada",
            "answers": person.assignments.count(),
            "after_report": False,
        }
        == row
    )
    (departure,) = report["registration"]["departures"]
    assert (departure["planned"], departure["by"]) == ("Who fails both checks.", "ada")
    assert mark_of(report, ["human", "majority", "accuracy"]) == "explored"
    assert "Too fast." in page_words(report)
    shared = without_people(report)["human"]["exclusions"][0]
    assert (shared["rater"], shared["reason"], shared["by"]) == ("", "", "ada")


@pytest.mark.nightly
def test_an_exclusion_after_a_first_report_is_told_as_one(tmp_path):
    study = little_study(49)
    before_data(study, bootstrap=100)
    call_command("report", study.slug, "--out", str(tmp_path / "first"), "--bootstrap", "100")
    person = study.annotators.order_by("pseudonym").first()
    exclude(annotator_id=person.pk, reason="Too fast.")

    report = built(study, bootstrap=100)

    assert report["human"]["exclusions"][0]["after_report"]
    assert report["registration"]["departures"][0]["after_first_report"] == 1
