"""Studies at the edge: nothing, one of something, all the same. Reasons, states, no crash."""

import datetime

import pytest
from django.utils import timezone

from analysis.report.build import all_tables
from analysis.report.citation import methods_paragraph
from analysis.report.render import render_html
from analysis.report.report_json import to_json
from analysis.report.table_files import to_tex
from analysis.report.verdict.first_screen import verdict_of
from studies.models import Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_study, stored_at_once

pytestmark = pytest.mark.django_db


def whole(study: Study) -> tuple[dict, str]:
    """The report in all its forms: none of them may fail."""
    report = report_of(study)
    to_json(report)
    for table in all_tables(report).values():
        to_tex(table)
    return report, render_html(report, date=datetime.date(2026, 11, 20))


@stored_at_once()
def made(*, answers=(), judged=None, items=4, truth="r1", setting="certainty", **fields) -> Study:
    """A study in which each person gives the same answer to every item, and so does a judge."""
    study = make_study(**fields)
    raters = [make_rater(study=study) for _ in answers]
    run = make_run(study=study, setting=setting) if judged else None
    for _ in range(items):
        item = make_item(study=study, first_person=truth)
        for rater, (choice, certainty) in zip(raters, answers, strict=True):
            answer(rater, item, choice, certainty)
        if run:
            judge_item(run, item, *judged)
    return study


def test_a_study_without_anything():
    report, page = whole(make_study())

    assert report["headline"]["state"] == "no_answers"
    assert report["human"]["majority"]["accuracy_reason"] == "empty_group"
    assert report["human"]["agreement"]["percent_reason"] == "no_pairs"
    assert report["judges"] == report["comparison"] == []
    assert "No person has answered, and no judge was run" in page
    assert "Items, one by one" not in page


def test_people_without_judges_who_never_disagree():
    report, page = whole(made(answers=[("r1", 90)] * 3))

    assert report["headline"]["state"] == "people_only"
    assert report["human"]["majority"]["accuracy"] == 1.0
    assert report["human"]["agreement"]["krippendorff_alpha"]["value_reason"] == "no_variation"
    rows = {row[0]: row[1:] for row in all_tables(report)["agreement"].rows}
    assert rows["Krippendorff's alpha"] == [None, None, "all values are the same"]
    assert 'id="ablations"' not in page


def test_what_people_like_themselves_is_neither_right_nor_wrong():
    report, page = whole(made(answers=[("r2", 90)] * 3, judged=("r1", 90), perspective="own"))

    assert report["headline"]["state"] == "no_truth"
    assert report["human"]["individual"]["accuracy"] is None
    assert "People answered for themselves, so no answer is right or wrong." in page
    assert "How well do people judge for others?" not in page


def test_judges_without_people():
    report, page = whole(made(judged=("r1", 85)))

    assert report["headline"]["state"] == "judges_only"
    assert report["judges"][0]["accuracy"] == 1.0
    difference = report["comparison"][0]["difference"]
    assert (difference["value"], difference["value_reason"]) == (None, "empty_group")
    assert "cannot be compared with annotators" in page


def test_people_who_always_tie():
    report, _ = whole(made(answers=[("r1", 90), ("r2", 90)], judged=("r1", 90)))

    majority = report["human"]["majority"]
    assert (majority["n"], majority["ties"]) == (0, 4)
    assert report["human"]["individual"]["accuracy"] == 0.5
    assert "their votes tie on 4" in report["headline"]["sentences"][1]


def test_no_truth():
    report, page = whole(made(answers=[("r1", 90)] * 2, judged=("r1", 90), truth=""))

    assert report["headline"]["state"] == "no_truth"
    assert report["judges"][0]["excluded"]["no_truth"] == 4
    assert report["comparison"][0]["agreement_with_majority"] == 1.0
    assert report["comparison"][0]["mcnemar"]["p_reason"] == "no_discordant"
    assert "No right answers are known" in page


def test_a_judge_that_failed_on_everything():
    study = make_study()
    rater, run = make_rater(study=study), make_run(study=study)
    for state in ("unparseable", "refused", "error", "skipped", "pending"):
        item = make_item(study=study)
        answer(rater, item, "r1", 70)
        judge_item(run, item, state=state)

    report, _ = whole(study)

    judge = report["judges"][0]
    assert (judge["n"], judge["accuracy"], judge["accuracy_reason"]) == (0, None, "empty_group")
    assert judge["excluded"] == {
        **dict.fromkeys(("tie", "no_truth"), 0),
        **dict.fromkeys(("refused", "unparseable", "skipped", "error", "open"), 1),
    }
    assert report["headline"]["state"] == "people_only"
    # What waits for its answer is no judgment.
    assert report["inputs"]["judgments"] == 4


def test_no_high_certainty_at_all():
    report, _ = whole(made(items=12, answers=[("r1", 79)], judged=("r1", 79)))

    nothing = {"ci": None, "ci_reason": "empty_group"}
    assert report["human"]["majority"]["high"] == {
        "n": 0,
        "correct": 0,
        "accuracy": None,
        "accuracy_reason": "empty_group",
        **nothing,
        "clusters": {"personas": 0, "questions": 0, "people": 0, **nothing},
    }
    assert "steady on 0 items (of 12)" in report["headline"]["sentences"][3]


def test_a_study_that_does_not_ask_for_certainty():
    report, page = whole(
        made(
            items=12,
            answers=[("r1", None)],
            judged=("r1",),
            setting="standard",
            ask_certainty=False,
        )
    )

    assert report["human"]["majority"]["no_certainty"] == 12
    assert report["judges"][0]["calibration"]["ece_reason"] == "empty_group"
    assert report["comparison"][0]["certainty"]["spearman_reason"] == "too_few_items"
    assert "Nobody was asked for a certainty" in page


def test_people_whose_answers_are_all_excluded_have_answered():
    study = made(answers=[("r1", 90)] * 3)
    study.annotators.update(excluded_at=timezone.now(), exclusion_reason="bots")

    report, page = whole(study)

    words = methods_paragraph(report)
    assert "No answer of people counts. The researchers excluded 12 answers by 3 people." in words
    assert "No answer of people counts, and no judge was run" in verdict_of(report).answer.sentence
    assert "No answer of people counts; " in page
    assert "Nobody answered" not in page


def test_one_person_is_one():
    report, page = whole(made(answers=[("r1", 90)], reward=300))

    assert "1 person finished; the study promised 3.00 USD for about" in methods_paragraph(report)
    assert " finished, for " in page


def test_certainties_without_a_known_answer_were_stated_all_the_same():
    report, page = whole(made(items=12, answers=[("r1", 60)], truth=""))

    assert report["human"]["individual"]["certainty"]["summary"]["n"] == 12
    assert "Nobody was asked for a certainty" not in page
    assert 'id="table-certainty"' in page


def test_people_who_were_offered_no_tie_where_all_truths_are_ties():
    study = made(answers=[("r1", 60)], judged=("tie",), truth="tie", setting="tie")

    report, _ = whole(study)

    assert report["headline"]["state"] == "judges_only"
    assert report["headline"]["sentences"][1].startswith("Annotators decided 4 items, but none")


def test_what_never_varies_has_no_interval_of_width_zero():
    report, _ = whole(made(items=40, answers=[("r1", 50)] * 3, judged=("r1", 50)))

    assert report["human"]["individual"]["low"]["pigeonhole_ci_reason"] == "no_variation"


def test_a_bar_of_fewer_than_ten_answers_has_no_percentage():
    study = make_study()
    rater = make_rater(study=study)
    for number in range(19):
        answer(rater, make_item(study=study, first_person="r1"), "r1", 30 if number < 9 else 60)

    report, _ = whole(study)

    bars = {row[1]: row[2:] for row in all_tables(report)["certainty_histogram"].rows}
    assert (bars["30–39"], bars["60–69"]) == ([9, 9, None], [10, 10, 1.0])


def test_both_orders_that_disagree_are_a_tie_and_not_an_error():
    study = make_study()
    run = make_run(study=study, orders="both")
    item = make_item(study=study)
    judge_item(run, item, "r1", 90, shown_first="r1")
    judge_item(run, item, "r2", 90, shown_first="r2")

    report, _ = whole(study)

    judge = report["judges"][0]
    assert (judge["n"], judge["excluded"]["tie"]) == (0, 1)
    assert judge["position"]["both_orders"]["first_both_times"] == 1
