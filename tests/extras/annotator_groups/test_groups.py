"""Who judges whom, and accuracy by what annotators say about themselves."""

import datetime as dt
from collections import defaultdict

import pytest

from analysis.report.render import render_html
from analysis.report.report_json import without_people
from tests.analysis.brute_force import truth_of
from tests.analysis.brute_force_groups import feature_of
from tests.analysis.builders import answer, make_rater, make_run
from tests.analysis.partial import computed, report_of
from tests.analysis.recomputed.comparing import pair
from tests.analysis.recomputed.conftest import of_scope
from tests.analysis.test_report_groups import persona_of, study_of_two_groups
from tests.factories import make_item, make_study, stored_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.computed]
study, report, counted = of_scope("module", "module_db")


def test_answers_are_sorted_by_the_groups_of_annotator_and_persona():
    [found] = report_of(study_of_two_groups())["who_judges_whom"]

    assert (found["annotator"], found["persona"]) == ("gender", "Sex")
    assert found["columns"] == ["Man", "Woman"]
    cells = {row["value"]: [(c["correct"], c["n"]) for c in row["cells"]] for row in found["rows"]}
    assert cells == {"man": [(5, 5), (0, 5)], "woman": [(0, 5), (5, 5)]}
    assert (found["own"]["correct"], found["own"]["n"]) == (10, 10)
    assert (found["other"]["correct"], found["other"]["n"]) == (0, 10)


def test_a_group_of_fewer_than_five_annotators_is_in_no_cell():
    study = study_of_two_groups(women=5, men=5)
    for _ in range(4):
        rater = make_rater(study=study, demographics={"gender": "other"})
        answer(rater, make_item(study=study, persona=persona_of(study, "Man")), "r1", 60)

    [found] = report_of(study)["who_judges_whom"]

    assert [row["value"] for row in found["rows"]] == ["man", "woman"]
    assert found["left_out"] == 4
    assert "other" not in str(found["rows"])


def test_annotators_are_grouped_by_what_they_say_and_nobody_can_be_made_out():
    study = make_study()
    items = [make_item(study=study, first_person="r1") for _ in range(30)]
    said = ["rural"] * 5 + ["urban"] * 6 + ["island"]
    with stored_at_once():
        for number, region in enumerate(said):
            rater = make_rater(study=study, demographics={"region": region})
            for place, item in enumerate(items):
                answer(rater, item, "r1" if (place + number) % 3 else "r2", 60)
    make_run(study=study)

    (table,) = computed(study, "annotator_groups")["annotator_groups"]

    rows = {row["value"]: (row["people"], row["answers"]["n"]) for row in table["rows"]}
    assert table["label"] == "region"
    assert (rows, table["left_out"]) == ({"rural": (5, 150), "urban": (6, 180)}, 1)
    assert all(row["answers"]["accuracy"] == pytest.approx(2 / 3) for row in table["rows"])
    (pair,) = table["differences"]
    assert (pair["first"], pair["second"]) == ("rural", "urban")
    assert pair["difference"] == pytest.approx(0)


def whom(counted, attribute, label):
    """n and right of single answers by the group of the annotator and of the persona."""
    value = feature_of(label)
    cells: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in counted.answers:
        item = row.assignment.item
        truth = truth_of(item, counted.study.allow_tie)
        if truth is not None:
            own = row.assignment.annotator.demographics.get(attribute, "")
            cells[own, value(item)][0] += 1
            cells[own, value(item)][1] += row.choice == truth
    return {key: tuple(cell) for key, cell in cells.items()}


def test_who_judges_whom(report, counted):
    expected = whom(counted, "age", "Age")

    for found in report["who_judges_whom"]:
        for row in found["rows"]:
            for value, cell in zip(found["columns"], row["cells"], strict=True):
                assert pair(cell) == expected.get((row["value"], value), (0, 0))
    shown = sum(len(found["rows"]) for found in report["who_judges_whom"])
    # Eight people are four and four: too few of either to be shown.
    assert shown == (2 if len(report["human"]["raters"]) >= 10 else 0)


def test_a_copy_without_people_has_no_column_of_few_personas():
    report = report_of(study_of_two_groups())
    [found] = report["who_judges_whom"]
    [kept] = without_people(report)["who_judges_whom"]

    assert len(found["columns"]) == 2
    assert (kept["columns"], kept["rows"][0]["cells"]) == ([], [])


def test_the_page_shows_both():
    page = render_html(report_of(study_of_two_groups()), date=dt.date(2026, 5, 1))

    assert "Who judges whom: gender of the annotator, Sex of the persona" in page
    assert "People&#x27;s accuracy by their own gender" in page
    assert "Are people better at judging for others like them?" in page
