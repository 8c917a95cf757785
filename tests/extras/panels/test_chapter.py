"""The report's chapter on panels."""

import pytest

from analysis.data.dataset import load_dataset
from extras.panels.chapter import CHAPTER
from extras.panels.models import Panel, PanelPerson
from extras.panels.reader import PanelsOfPeople
from studies.models import Item
from tests.analysis.builders import answer, make_rater
from tests.analysis.partial import report_of
from tests.extras.panels.builders import make_panel
from tests.factories import make_item, make_study, stored_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db: None):
    return make_study(entry="list")


@stored_at_once()
def answered(study, *, right_share_of_second: float) -> None:
    """Eight people of MTurk, always right, and eight of SONA at 20 items each."""
    items = [make_item(study=study, key=f"i{n}") for n in range(20)]
    for n in range(16):
        rater = make_rater(study=study)
        for k, item in enumerate(items):
            is_right = n < 8 or (n + k) % 20 < 20 * right_share_of_second
            answer(rater, item, "r1" if is_right else "r2", 70)


def sent(study) -> None:
    panels = [make_panel(study, "mturk"), make_panel(study, "sona")]
    people = study.annotators.order_by("pk")
    PanelPerson.objects.bulk_create(
        PanelPerson(annotator=person, panel=panels[n // 8]) for n, person in enumerate(people)
    )


def test_panels_that_differ_are_named_with_their_shares_and_a_test(study):
    answered(study, right_share_of_second=0.5)
    sent(study)

    report = report_of(study)

    groups = report["panels"]["groups"]
    assert [(group["name"], group["people"], group["answers"]) for group in groups] == [
        ("MTurk", 8, 160),
        ("SONA", 8, 160),
    ]
    assert groups[0]["accuracy"] == 1.0
    assert groups[1]["accuracy"] == pytest.approx(0.5)
    accuracy, agreement = report["panels"]["tests"]
    assert accuracy["p_holm"] <= 0.01
    assert accuracy["people"] == 16
    assert 0 < agreement["p_holm"] <= 1
    assert [sentence.place for sentence in CHAPTER.sentences(report)] == [
        "methods",
        "finding",
        "finding",
    ]
    methods, finding, _ = (str(sentence.text) for sentence in CHAPTER.sentences(report))
    assert "MTurk 8, SONA 8" in methods
    assert finding.startswith(
        "Panels differ in accuracy, from −25.0 (8 people of SONA) to +25.0 (8 people of MTurk) "
        "points from the mean of their items: 2 panels, 16 people, adjusted p "
    )
    assert "panels" in {kind["kind"] for kind in report["claims_tested"]["kinds"]}


@stored_at_once()
def answered_other_items(study):
    """MTurk answers easy items mostly, SONA hard ones, and SONA is better at each."""
    items = [make_item(study=study, key=f"i{n:02}") for n in range(40)]
    people = [make_rater(study=study) for _ in range(16)]
    for n, person in enumerate(people):
        for k, item in enumerate(items):
            is_easy, is_sona = k < 20, n >= 8
            if is_easy != is_sona or (n + k) % 4 == 0:
                ease = 18 if is_easy else 6
                is_right = (7 * n + 3 * k) % 20 < ease + (2 if is_sona else -2)
                answer(person, item, "r1" if is_right else "r2", 70)


def test_panels_are_ordered_by_what_is_tested_and_not_by_how_easy_their_items_were(study):
    answered_other_items(study)
    sent(study)

    mturk, sona = report_of(study)["panels"]["groups"]

    assert mturk["accuracy"] > sona["accuracy"]
    assert mturk["accuracy_above"] < 0 < sona["accuracy_above"]


def test_panels_that_do_not_differ_are_not_said_to(study):
    answered(study, right_share_of_second=1.0)
    sent(study)

    tests = report_of(study)["panels"]["tests"]

    assert [test["p_reason"] for test in tests] == ["no_variation", "no_variation"]


def test_one_panel_and_answers_without_a_value_are_no_lack_of_people(study):
    answered(study, right_share_of_second=0.5)
    PanelPerson.objects.bulk_create(
        PanelPerson(annotator=person, panel=panel)
        for panel in [make_panel(study, "mturk")]
        for person in study.annotators.all()
    )

    words = [str(sentence.text) for sentence in CHAPTER.sentences(report_of(study))]
    assert words[1] == (
        "We cannot tell whether panels differ in accuracy: fewer than two panels have enough "
        "people."
    )
    Item.objects.filter(study=study).update(first_person="")
    words = [str(sentence.text) for sentence in CHAPTER.sentences(report_of(study))]
    assert "in accuracy: no answer, or no known right answer." in words[1]


def test_without_people_of_panels_there_is_no_chapter(study):
    answered(study, right_share_of_second=0.5)
    make_panel(study, "sona")

    assert "panels" not in report_of(study)


def test_people_who_came_otherwise_are_a_group_of_their_own(study):
    answered(study, right_share_of_second=0.5)
    sent(study)
    PanelPerson.objects.filter(panel__preset="mturk").delete()

    data = load_dataset(study.slug)

    people = data.of(PanelsOfPeople)
    assert people.names == ("MTurk", "SONA", "No panel")
    assert sorted(people.panel.tolist()) == [1] * 8 + [2] * 8


def test_two_panels_of_one_name_are_told_apart(study):
    answered(study, right_share_of_second=0.5)
    sent(study)
    Panel.objects.update(title="Panel")

    names = [group["name"] for group in report_of(study)["panels"]["groups"]]

    assert names == ["Panel (1)", "Panel (2)"]
