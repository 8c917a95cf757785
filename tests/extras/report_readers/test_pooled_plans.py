"""Pooled studies with analysis plans, and their verification."""

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Value
from django.db.models.functions import Concat

from analysis.data.dataset import load_dataset
from analysis.report.registration import mark_of
from annotation.models import Annotation, Annotator
from studies.models import Item
from tests.analysis.builders import little_study
from tests.extras.report_readers.test_pooling import pooled

made = pytest.importorskip("tests.extras.frozen_plans.made")
freezing = pytest.importorskip("extras.frozen_plans.freezing")

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _words_of_the_builders(monkeypatch):
    """Runs of the builders were never asked; they have this hash in place of one of words."""
    monkeypatch.setattr("extras.frozen_plans.plans._prompt", lambda study, judge: "0" * 64)


def planned(*studies):
    return pooled(*(study.slug for study in studies), seed=20240701, bootstrap=1000)


def two_waves():
    """Two studies of other items, so that they can be pooled."""
    pilot, main = little_study(40, n_items=6), little_study(41, n_items=6)
    Item.everything.filter(study=main).update(key=Concat(Value("main-"), "key"))
    return pilot, main


def test_pooled_studies_with_one_plan_are_registered_by_it():
    studies = two_waves()
    for study in studies:
        made.before_data(study)

    report = planned(*studies)

    plan = report["registration"]["plan"]
    assert mark_of(report, ["human", "majority", "accuracy"]) == "registered"
    assert mark_of(report, ["human", "agreement", "percent"]) == "explored"
    assert plan["seals"] == {s.slug: s.analysis_plan.seal for s in studies}
    assert plan["study"] == report["study"]["slug"]


def test_pooled_studies_of_which_one_was_planned_after_its_data_are_not_registered():
    pilot, main = two_waves()
    made.before_data(pilot)
    freezing.freeze_plan(study_id=main.pk, **made.PLAN)

    report = planned(pilot, main)

    assert mark_of(report, ["human", "majority", "accuracy"]) == "late"
    answers = report["registration"]["plan"]["answers_by_then"]
    assert answers == load_dataset(main.slug).answers.item.size


@pytest.mark.parametrize(
    ("other", "because"),
    [
        (None, "No analysis plan was frozen for {main}, which is part of this pool."),
        (
            {"seed": 5, "hypotheses": "None."},
            "The analysis plans of the pooled studies differ in hypotheses, seed.",
        ),
    ],
)
def test_pooled_studies_without_a_common_plan_are_explored_and_say_why(other, because):
    pilot, main = two_waves()
    made.before_data(pilot)
    if other:
        made.before_data(main, **other)

    report = planned(pilot, main)

    said = because.format(main=main.slug)
    assert report["registration"]["because"] == said
    assert {entry["because"] for entry in report["registration"]["analyses"]} == {said}
    assert mark_of(report, ["human", "majority", "accuracy"]) == "explored"
    assert f"{said[:-1]}, so everything is exploratory." in str(report["limitations"])


@pytest.mark.nightly
def test_pooled_waves_are_verified_and_the_withdrawn_named_by_their_wave(tmp_path, capsys):
    pilot, main = (little_study(seed, n_items=12) for seed in (43, 44))
    Item.everything.filter(study=main).update(key=Concat(Value("main-"), "key"))
    slugs = [pilot.slug, main.slug]
    call_command("report", *slugs, out=str(tmp_path), pool=True, bootstrap=100, verbosity=0)
    path = str(tmp_path / "pooled")
    call_command("verify", path)
    assert "Equal" in capsys.readouterr().out

    person = Annotator.objects.filter(study__slug=slugs[1]).order_by("pseudonym").first()
    Annotation.objects.filter(assignment__annotator=person).update(standing="withdrawn")
    with pytest.raises(CommandError, match="superseded"):
        call_command("verify", path)

    assert f"{slugs[1]}/{person.pseudonym} withdrew" in capsys.readouterr().out
