"""Systems in a report: a section of their own where items name them, and nothing elsewhere."""

import datetime as dt
import random

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_sentences, all_tables
from analysis.report.render import render_html
from extras.estimation.items import SystemsOfItems, systems_of
from judging.models import Judgment
from studies.models import Item
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import computed, report_of
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, stored_at_once

NAMES = ("alpha", "beta", "gamma")
LIKED = {"alpha": 0.95, "beta": 0.5, "gamma": 0.05}


def name_systems(study, names=NAMES):
    """Every item compares two systems, in turn."""
    items = list(Item.objects.filter(study=study).order_by("key"))
    for number, item in enumerate(items):
        one, two = names[number % len(names)], names[(number + 1) % len(names)]
        item.r1["generated_by"] = {"kind": "model", "name": one}
        item.r2["generated_by"] = {"kind": "model", "name": two}
    Item.objects.bulk_update(items, ["r1", "r2"])


@stored_at_once()
def judged_study(*, accuracies=(0.9,), n_items=90, n_personas=15, sure=0.0):
    """Annotators who like alpha best, and runs that say the same as often as stated."""
    rng = random.Random(5)
    study = make_study()
    personas = [make_persona(study=study) for _ in range(n_personas)]
    raters = [make_rater(study=study) for _ in range(12)]
    runs = [make_run(study=study, judge=f"judge {number}") for number in range(len(accuracies))]
    for number in range(n_items):
        one, two = rng.sample(NAMES, 2)
        liked = "r1" if rng.random() < 0.5 + (LIKED[one] - LIKED[two]) / 2 else "r2"
        item = make_item(
            study=study,
            key=f"i{number:03}",
            persona=personas[number % n_personas],
            first_person=liked,
            r1={"text": "One.", "generated_by": {"kind": "model", "name": one}},
            r2={"text": "Two.", "generated_by": {"kind": "model", "name": two}},
        )
        other = {"r1": "r2", "r2": "r1"}[liked]
        for rater in rng.sample(raters, 3):
            answer(rater, item, liked, 70)
        for run, accuracy in zip(runs, accuracies, strict=True):
            is_sure = rng.random() < sure
            is_right = rng.random() < (0.97 if is_sure else accuracy)
            judge_item(run, item, liked if is_right else other, 95 if is_sure else 70)
    return study


def findings(report, place="finding"):
    return [str(each.text) for each in all_sentences(report, place)]


@pytest.mark.nightly
@pytest.mark.django_db
def test_names_change_nothing_but_their_own_section():
    study = random_study(4, n_items=48, n_personas=12, n_raters=12)
    before = report_of(study)
    page_before = render_html(before, date=dt.date(2026, 5, 1))

    name_systems(study)
    after = report_of(study)
    page = render_html(after, date=dt.date(2026, 5, 1))

    assert '<section id="systems">' not in page_before
    assert '<section id="systems">' in page
    assert "48 items compare 3 named systems." in page
    found = after.pop("systems")
    assert found["names"] == ["alpha", "beta", "gamma"]
    assert before["inputs"].pop("hash") != after["inputs"].pop("hash")
    assert after == before
    assert not faults({"systems": found})


@pytest.mark.nightly
@pytest.mark.django_db
def test_win_rates_rankings_and_the_finding_are_those_that_were_planted():
    study = judged_study()

    report = report_of(study)

    found = report["systems"]
    [judge] = found["judges"]
    for side in (found["people"], found["own"], judge):
        assert [entry["place"] for entry in side["systems"]] == [1, 2, 3]
    won = sum(
        {"r1": item.r1, "r2": item.r2}[item.first_person]["generated_by"]["name"] == "alpha"
        for item in Item.objects.filter(study=study)
    )
    alpha = found["people"]["systems"][0]
    assert (alpha["wins"], alpha["rate"]) == (won, pytest.approx(won / alpha["n"]))
    against = judge["against"]["people"]
    assert against["accuracy"] > 0.8
    raw, corrected = judge["systems"][0]["rate"], against["systems"][0]["rate"]
    slope = 2 * against["accuracy"] - 1
    assert corrected == pytest.approx(min(1, 0.5 + (raw - 0.5) / slope))
    assert against["ranking"]["kendall"] == 1
    [words] = [text for text in findings(report) if "first place" in text]
    share = against["ranking"]["same_top"]
    assert words == (
        "On the 90 items that both decided, the first places by judge 0 and by the majority of "
        f"annotators are the same in {100 * share:.1f} % of resamples."
    )
    tables = all_tables(report)
    assert [
        len(tables[name].rows)
        for name in ("system_rankings", "system_rates", "system_rates_corrected")
    ] == [2, 9, 3]
    assert not faults(report)


@pytest.mark.nightly
@pytest.mark.django_db
def test_the_finding_on_several_runs_has_the_least_and_the_most_often_that_first_places_agree():
    report = report_of(judged_study(accuracies=(0.95, 0.05)))

    [words] = [text for text in findings(report) if "first place" in text]

    shares = [
        judge["against"]["people"]["ranking"]["same_top"] for judge in report["systems"]["judges"]
    ]
    assert words == (
        "The first places by each of 2 runs and by the majority of annotators, on the items that "
        f"both decided, are the same in {100 * min(shares):.1f} % (on 90 items) to "
        f"{100 * max(shares):.1f} % (on 90 items) of resamples."
    )


@pytest.mark.nightly
@pytest.mark.django_db
def test_a_certified_judge_is_compared_with_people_among_the_items_it_accepts():
    study = judged_study(accuracies=(0.55, 0.5), n_items=150, n_personas=150, sure=0.5)
    threshold = computed(study, "certified", bootstrap=60)["selective"][0]["threshold"]

    report = report_of(study)

    judge, other = report["systems"]["judges"]
    accepted = judge["accepted"]
    assert 70 < threshold == accepted["threshold"] <= 95
    judged = Judgment.objects.filter(run__judge__name="judge 0", certainty__gte=threshold)
    assert accepted["n"] == judged.count() < judge["n"] == 150
    assert sum(entry["n"] for entry in accepted["systems"]) == 2 * accepted["n"]
    assert accepted["against"]["people"]["accuracy"] > judge["against"]["people"]["accuracy"] + 0.1
    ranking = accepted["against"]["people"]["ranking"]
    words = [text for text in findings(report) if "at a certainty of" in text]
    assert words[0] == (
        f"On the {ranking['n']} items that both decided at a certainty of judge 0 of at least "
        f"{threshold:.0f}, the first places by that run and by the majority of annotators are the "
        f"same in {100 * ranking['same_top']:.1f} % of resamples, the whole order in "
        f"{100 * ranking['same_order']:.1f} %."
    )
    certified = [entry for entry in (judge, other) if "accepted" in entry]
    assert len(words) == len(certified)
    assert len(all_tables(report)["system_accepted"].rows) == 3 * len(certified)
    assert not faults(report)


@pytest.mark.nightly
@pytest.mark.django_db
def test_a_ranking_that_does_not_exist_is_missing():
    study = judged_study(n_items=40)
    Item.objects.filter(study=study, r1__generated_by__name="alpha").update(first_person="r1")
    items = Item.objects.filter(study=study)
    for assignment in [a for item in items for a in item.assignments.all()]:
        first = assignment.item.r1["generated_by"]["name"]
        assignment.annotation.choice = (
            "r1" if first <= assignment.item.r2["generated_by"]["name"] else "r2"
        )
        assignment.annotation.save()

    report = report_of(study)

    people = report["systems"]["people"]["systems"]
    assert {entry["strength_reason"] for entry in people} == {"not_connected"}
    assert any(
        "are not compared: some systems never lose" in t for t in findings(report, "missing")
    )
    assert '<section id="systems">' in render_html(report, date=dt.date(2026, 5, 1))


def test_systems_need_ten_items_against_systems_that_are_compared():
    makers = [("a", "b")] * 10 + [("c", "a")] * 9 + [("c", "d")] * 3 + [("a", None), ("a", "a")]

    found = systems_of(makers)

    assert (found.names, found.few) == (("a", "b"), ("c", "d"))
    assert found.first.tolist() == [0] * 10 + [-1] * 14
    assert found.second.tolist() == [1] * 10 + [-1] * 14
    assert systems_of([("a", "b")] * 9) is None
    assert systems_of([(None, None), ("", "")]) is None


@pytest.mark.django_db
def test_items_without_a_maker_have_no_systems_and_the_hash_follows_the_names():
    study = random_study(4, n_items=24)
    item = Item.objects.filter(study=study).first()
    item.r1["generated_by"] = None
    item.save()
    assert load_dataset(study.slug).of(SystemsOfItems) is None

    name_systems(study, ("a", "b"))
    before = load_dataset(study.slug)
    name_systems(study, ("a", "c"))

    assert before.of(SystemsOfItems).names == ("a", "b")
    assert load_dataset(study.slug).inputs_hash != before.inputs_hash
