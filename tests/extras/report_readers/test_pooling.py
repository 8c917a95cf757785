"""Waves of a study as one data set: items, people, judgments and plans."""

from dataclasses import replace

import pytest
from django.utils import timezone

from analysis.data.arrays import DesignData
from analysis.data.dataset import load_dataset
from analysis.errors import BadParameters
from analysis.report.build import build_report
from analysis.report.citation import methods_paragraph
from extras.report_readers.several.pooling import pool
from studies.models import Item
from tests.analysis.builders import random_study
from tests.extras.report_readers.test_across import waves

pytestmark = pytest.mark.django_db


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
    words = methods_paragraph(found)
    assert words.startswith("The studies pilot and main, pooled, have 12 items")
    assert "4 people gave 48 answers" in words
    assert "7 participations were finished, for 4.50 USD each and about" in words
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


class _Together(DesignData):
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
