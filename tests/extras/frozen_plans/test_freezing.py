"""Freezing a plan: once, sealed, refused where it makes no sense."""

import pytest
from django.core.management import CommandError, call_command

from analysis.data.dataset import load_dataset
from analysis.errors import AnalysisError, BadParameters, PlanIsFrozen
from analysis.lifecycle.requests import request_report
from analysis.lifecycle.storage import registered
from analysis.report.build import build_report
from analysis.report.rules import USUAL_ANALYSES
from extras.frozen_plans.freezing import freeze_plan, parse_judge, usual_analyses
from extras.frozen_plans.models import AnalysisPlan
from judging.wordings import save_wording
from tests.analysis.builders import answer, make_rater, make_run, random_study
from tests.extras.frozen_plans.made import PLAN, STEADY
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db

TEXT = "{{ persona }} {{ question }} {{ response_a }} {{ response_b }} Answer [[A]] or [[B]]."


def test_a_plan_has_a_seal_over_all_it_says_and_the_time():
    plan = freeze_plan(study_id=make_study(certainty_threshold=75).pk, **PLAN)

    row = AnalysisPlan.objects.get()
    assert (row.seal, row.content["threshold"]) == (plan.sealed(), 75)
    assert plan.is_before_data
    assert row.study.log.get(event="analysis plan frozen").detail == {"seal": plan.seal}


def test_a_frozen_plan_stays_as_it_is():
    study = make_study()
    first = freeze_plan(study_id=study.pk, **PLAN)

    with pytest.raises(PlanIsFrozen, match="cannot be changed"):
        freeze_plan(study_id=study.pk, **PLAN | {"threshold": 70})

    assert AnalysisPlan.objects.get().seal == first.seal


def test_a_plan_that_was_changed_in_the_database_stops_the_report():
    study = make_study()
    freeze_plan(study_id=study.pk, **PLAN)
    row = AnalysisPlan.objects.get()
    row.content["threshold"] = 60
    row.save()

    with pytest.raises(AnalysisError, match="changed in the database"):
        load_dataset(study.slug)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"threshold": 101}, "Use 1 to 100"),
        ({"margin": 0.6}, r"The margin is .*\. Use"),
        ({"analyses": ["magic"]}, "no analysis “magic”"),
        ({"analyses": []}, "at least one"),
        ({"judges": [STEADY, STEADY]}, "twice"),
        ({"exclusions": "x" * 20_001}, "too long"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_whole(wrong, words):
    with pytest.raises(BadParameters, match=words):
        freeze_plan(study_id=make_study().pk, **PLAN | wrong)

    assert not AnalysisPlan.objects.exists()


def test_a_planned_run_is_written_with_colons():
    assert parse_judge(" steady ") == STEADY
    assert parse_judge("steady: tie :none")["features"] == "none"
    for text, message in (
        ("steady:loud", "not a setting"),
        ("steady : tie : all : : sideways", "“sideways” is not a framing"),
        ("a:tie:all:w:persona:more", "NAME : SETTING"),
    ):
        with pytest.raises(BadParameters, match=message):
            parse_judge(text)


def test_a_report_takes_threshold_seed_and_resamples_from_the_plan(monkeypatch):
    study = make_study(certainty_threshold=80)
    freeze_plan(study_id=study.pk, **PLAN, threshold=70, margin=0.1, seed=5, bootstrap=200)
    monkeypatch.setattr("analysis.tasks.build_report.delay_on_commit", lambda pk: None)

    report = request_report(study_id=study.pk)

    assert (report.threshold, report.seed, report.bootstrap) == (70, 5, 200)
    assert registered(study).margin == load_dataset(study.slug).study.equivalence_margin == 0.1


def test_the_command_freezes_and_says_what_was_there_already(capsys):
    study = make_study()
    answer(make_rater(study=study), make_item(study=study), "r1")
    make_run(study=study)

    call_command("freeze_plan", study.slug, "--judge", "steady", "--exclusions", "Nobody's.")

    said = capsys.readouterr()
    assert AnalysisPlan.objects.get().seal in said.out
    assert "1 answers and 0 judgments already existed" in said.err


def test_the_command_can_try_first_and_tells_bad_usage_from_a_plan_that_is_there(capsys):
    study = make_study()
    call_command("freeze_plan", study.slug, "--dry-run")
    assert "Nothing was stored" in capsys.readouterr().out
    with pytest.raises(CommandError, match="no analysis “x”") as bad:
        call_command("freeze_plan", study.slug, "--analyses", "x")
    assert not AnalysisPlan.objects.exists()

    call_command("freeze_plan", study.slug)
    with pytest.raises(CommandError, match="cannot be changed") as second:
        call_command("freeze_plan", study.slug)

    assert (bad.value.returncode, second.value.returncode) == (2, 1)


def test_a_wording_is_planned_with_its_version_and_hash():
    study = make_study()
    with pytest.raises(BadParameters, match="no wording “odd”"):
        freeze_plan(
            study_id=study.pk, **PLAN | {"judges": [parse_judge("j : standard : all : odd")]}
        )
    wording = save_wording(study_id=study.pk, name="odd", setting="standard", template=TEXT)

    plan = freeze_plan(study_id=study.pk, **PLAN | {"judges": [parse_judge("j:standard:all:odd")]})

    assert plan.content["judges"][0]["wording"] == "odd@1"
    assert plan.content["judges"][0]["wording_sha256"] == wording.sha256


@pytest.mark.parametrize(
    ("settings", "judges", "left_out"),
    [
        ({}, [STEADY, STEADY | {"features": "none"}], set()),
        ({}, [STEADY], {"ablations"}),
        ({"ask_certainty": False}, [STEADY], {"ablations", "certainty_beside"}),
        (
            {"ask_certainty": False},
            [STEADY | {"setting": "standard"}],
            {"ablations", "calibration", "certain", "certainty_beside"},
        ),
    ],
)
def test_without_names_a_plan_has_the_analyses_that_the_study_can_compute(
    settings, judges, left_out
):
    study = make_study(**settings)

    assert {*USUAL_ANALYSES} - {*usual_analyses(study, judges)} == left_out


def test_a_study_whose_items_have_no_right_answer_plans_no_accuracy():
    study = make_study()
    make_item(study=study, first_person="")

    assert not {"accuracy", "difference"} & {*usual_analyses(study, [STEADY])}
    assert "agreement" in usual_analyses(study, [STEADY])


def test_a_report_computes_what_the_command_plans_by_itself():
    study = random_study(63, n_items=60, n_raters=4, per_item=(3,), n_personas=8)
    call_command("freeze_plan", study.slug, "--judge", "steady", "--bootstrap", "100")

    report = build_report(load_dataset(study.slug), seed=20240701, bootstrap=100)

    found = report["registration"]
    assert {*found["plan"]["analyses"]} == {*USUAL_ANALYSES} - {"ablations"}
    assert [entry for entry in found["analyses"] if "not_computed" in entry] == []
