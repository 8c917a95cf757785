"""Waves of a study as one data set: items, people, judgments and plans."""

from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Value
from django.db.models.functions import Concat
from django.utils import timezone

from analysis.data.arrays import Extra
from analysis.data.dataset import load_dataset
from analysis.errors import BadParameters
from analysis.lifecycle.plans import freeze_plan
from analysis.models import AnalysisPlan
from analysis.report.build import build_report
from analysis.report.registration import mark_of
from annotation.models import Annotation, Annotator
from extras.several_studies.pooling import pool
from studies.models import Item
from tests.analysis.builders import little_study, random_study
from tests.analysis.lifecycle.test_plans import PLAN, before_data
from tests.extras.several_studies.test_across import waves

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _words_of_the_builders(monkeypatch):
    """Runs of the builders were never asked; they have this hash in place of one of words."""
    monkeypatch.setattr("analysis.data.plans._prompt", lambda study, judge: "0" * 64)


def pooled(*slugs, seed=1, bootstrap=100):
    waves = [load_dataset(slug) for slug in slugs]
    return build_report(pool(waves), seed=seed, bootstrap=bootstrap)


@pytest.mark.nightly
def test_waves_on_the_same_items_are_pooled_item_by_item():
    waves()

    found = pooled("pilot", "main")

    assert found["study"]["title"] == "Pooled: Pilot + Main"
    human, [judge] = found["human"], found["judges"]
    assert (found["inputs"]["items"], human["annotators"], human["answers"]) == (12, 7, 84)
    assert human["coverage"] == {"7": 12}
    # The pilot judged every item first: its answers count, and no item twice.
    assert (judge["items"], judge["n"], judge["correct"]) == (12, 12, 12)
    assert judge["cost"]["requests"] == 24


def test_waves_on_different_items_are_put_one_after_the_other():
    waves(shared_items=False)

    found = pooled("pilot", "main")

    assert found["inputs"]["items"] == 24
    assert found["human"]["coverage"] == {"3": 12, "4": 12}
    assert (found["judges"][0]["n"], found["judges"][0]["correct"]) == (24, 12)


def same_people(*studies):
    """Give the people of two studies the same platform ids, in the order of their names."""
    for study in studies:
        for number, person in enumerate(study.annotators.order_by("pseudonym")):
            person.identity_hash = f"{number:064x}"
            person.save()


def test_a_person_in_several_waves_is_one_person_with_one_answer_to_an_item():
    same_people(*waves())

    found = pooled("pilot", "main")

    human = found["human"]
    assert (human["annotators"], human["coverage"]) == (4, {"4": 12})
    people = {"in_several": 3, "unknown": 0, "repeated_answers": 36}
    assert found["study"]["source"]["pooled_people"] == people
    assert sorted(row["rater"].count(" + ") for row in human["raters"]) == [0, 1, 1, 1]
    limits = {entry["limit"]: entry["text"] for entry in found["limitations"]}
    assert "36 answers to an item that the same person had answered" in limits["pooled"]


def test_people_of_waves_on_different_items_are_resampled_as_the_people_they_are():
    pilot, main = waves(shared_items=False)
    same_people(pilot, main)
    one = main.annotators.order_by("pseudonym").first()
    one.excluded_at, one.exclusion_reason = timezone.now(), "Too fast."
    one.save()

    data = pool([load_dataset("pilot"), load_dataset("main")])

    assert (len(data.raters), len(data.set_aside_raters)) == (4, 0)
    # Excluded in one of the waves only: the answers in the other one count.
    assert set(data.set_aside.rater.tolist()) == {0}


def test_where_no_id_was_stored_a_pooled_report_says_that_nobody_knows():
    _, main = waves()
    main.annotators.update(identity_hash=None)

    found = pooled("pilot", "main")

    assert found["study"]["source"]["pooled_people"]["unknown"] == 4
    assert "pooled_unknown" in {entry["limit"] for entry in found["limitations"]}


@pytest.mark.nightly
def test_pooling_a_study_with_nothing_changes_no_number():
    slug = random_study(2, n_items=60, truths=("r1", "r2", "tie", "")).slug

    alone = build_report(load_dataset(slug), seed=1, bootstrap=100)
    found = pooled(slug)

    for part in ("majority", "individual", "agreement"):
        assert found["human"][part] == alone["human"][part], part
    for one, other in zip(found["judges"], alone["judges"], strict=True):
        assert {**one, "run": "", "record": {}} == {**other, "run": "", "record": {}}


def test_runs_with_other_words_are_other_runs():
    wave = load_dataset(waves()[0].slug)
    (run,) = wave.runs
    other = replace(run, run="f" * 64, wording_sha256="1" * 64)

    found = pool([replace(wave, runs=(run, run)), replace(wave, runs=(other,))])

    assert [each.wording_sha256 for each in found.runs] == ["", "1" * 64]


class _Together(Extra):
    not_pooled = "its items hang together."


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("change", [{"allow_tie": True}, {"certainty_threshold": 70}])
def test_studies_that_asked_something_else_are_not_pooled(change):
    with pytest.raises(BadParameters, match="pilot and main cannot be pooled: they differ in"):
        pool([load_dataset(study.slug) for study in waves(**change)])


def test_items_of_one_key_and_designs_that_forbid_it_are_not_pooled():
    pilot, main = (load_dataset(study.slug) for study in waves())
    with pytest.raises(BadParameters, match="main cannot be pooled: its items hang together"):
        pool([pilot, replace(main, extras={"together": _Together()})])

    Item.objects.filter(study__slug="main", key="i03").update(question="Another question")
    with pytest.raises(BadParameters, match="Item i03 differs between the studies"):
        pool([pilot, load_dataset("main")])


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
        before_data(study)

    report = planned(*studies)

    plan = report["registration"]["plan"]
    assert mark_of(report, ["human", "majority", "accuracy"]) == "registered"
    assert mark_of(report, ["human", "agreement", "percent"]) == "explored"
    assert plan["seals"] == {s.slug: AnalysisPlan.objects.get(study=s).seal for s in studies}
    assert plan["study"] == report["study"]["slug"]


def test_pooled_studies_of_which_one_was_planned_after_its_data_are_not_registered():
    pilot, main = two_waves()
    before_data(pilot)
    freeze_plan(study_id=main.pk, **PLAN)

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
    before_data(pilot)
    if other:
        before_data(main, **other)

    report = planned(pilot, main)

    said = because.format(main=main.slug)
    assert report["registration"]["because"] == said
    assert {entry["because"] for entry in report["registration"]["analyses"]} == {said}
    assert mark_of(report, ["human", "majority", "accuracy"]) == "explored"
    assert f"{said} All of this is exploratory." in str(report["limitations"])


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
