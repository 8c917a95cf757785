"""The first chapter: the table of claims that hold and of questions that stay open."""

import pytest

from analysis.report.build import all_tables
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


def rows_of(report):
    table = all_tables(report)["what_was_found"]
    return [[cell.text for cell in row] for row in table.cells]


def leaning_study(*, right: int, leans: bool):
    """120 items of 40 personas; a judge that is right on `right` of ten and may lean to side A."""
    study = make_study(annotations_per_item=3, extras=[])
    run = make_run(study=study)
    with stored_at_once():
        raters = [make_rater(study=study) for _ in range(24)]
        personas = [make_persona(study=study) for _ in range(40)]
        for n in range(120):
            truth = "r1" if n % 2 else "r2"
            other = "r2" if truth == "r1" else "r1"
            item = make_item(study=study, persona=personas[n % 40], first_person=truth)
            for rater in (raters[(n + k) % 24] for k in range(3)):
                answer(rater, item, truth if (n // 3) % 4 else other, 70)
            is_right = n * 7 % 10 < right
            shown_first = truth if leans == is_right else other
            judge_item(run, item, truth if is_right else other, 70, shown_first=shown_first)
    return study


def test_a_claim_that_holds_and_a_question_that_stays_open_have_number_interval_and_n():
    leans = rows_of(report_of(leaning_study(right=6, leans=True)))
    is_fair = rows_of(report_of(leaning_study(right=6, leans=False)))

    [(_, number, interval, n)] = [row for row in leans if row[0] == "steady leans to side A"]
    assert (number, n) == ("+40.0 points", "120 answers")
    assert interval.startswith("+")
    assert " to +" in interval
    assert not [row for row in is_fair if row[0] == "steady leans to side A"]


def test_the_first_row_is_the_answer_and_questions_are_about_the_headlines_judge():
    study = random_study(
        8,
        n_items=120,
        n_raters=24,
        per_item=(3,),
        n_personas=40,
        truths=("r1", "r2"),
        runs=({"judge": "one"}, {"judge": "two", "setting": "certainty"}),
    )
    report = report_of(study)
    name = report["headline"]["judge"]
    other = {"one": "two", "two": "one"}[name]

    rows = rows_of(report)

    assert f"{name} " in rows[0][0]
    assert "the majority of people" in rows[0][0]
    assert "items (of 120) that every competing judge was asked" in rows[0][3]
    questions = [row[0] for row in rows if row[0].startswith("Open: ")]
    assert questions
    assert not [question for question in questions if other in question]


def test_no_more_than_ten_claims_are_named_and_the_rest_is_counted(monkeypatch):
    monkeypatch.setattr("analysis.report.verdict.claims.MOST_CLAIMS", 0)
    report = report_of(leaning_study(right=6, leans=True))

    table = all_tables(report)["what_was_found"]

    held = [row for row in table.rows if not str(row[0]).startswith("Open: ")]
    assert held == []
    assert "The chapters have 1 more that hold." in str(table.note)
