"""Studies at the edge: nothing, one of something, all the same. Reasons, sentences, no crash."""

import datetime

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_tables, build_report
from analysis.report.render import render_html
from analysis.report.report_json import to_json
from analysis.report.table_files import to_tex
from studies.models import Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db


def whole(study: Study) -> tuple[dict, str]:
    """The report in all its forms: none of them may fail."""
    report = build_report(load_dataset(study.slug), seed=1, bootstrap=100)
    to_json(report)
    for table in all_tables(report).values():
        to_tex(table)
    return report, render_html(report, date=datetime.date(2026, 11, 20))


def test_a_study_without_anything():
    report, page = whole(make_study())

    assert report["headline"]["state"] == "no_answers"
    assert report["human"]["majority"]["accuracy_reason"] == "empty_group"
    assert report["human"]["agreement"]["percent_reason"] == "no_pairs"
    assert report["judges"] == report["comparison"] == report["selective"] == []
    assert "There are no answers yet" in page
    assert "There are no items, so nothing is hard or easy." in page
    assert "Items, one by one" not in page


def test_people_without_judges():
    study = make_study()
    raters = [make_rater(study=study) for _ in range(3)]
    for _ in range(3):
        item = make_item(study=study)
        for rater in raters:
            answer(rater, item, "r1", 90)

    report, page = whole(study)

    assert report["headline"]["state"] == "people_only"
    assert report["human"]["majority"]["accuracy"] == 1.0
    assert report["human"]["agreement"]["krippendorff_alpha"]["value_reason"] == "no_variation"
    assert "No judge has both a run" in page


def test_what_people_like_themselves_is_neither_right_nor_wrong():
    study = make_study(perspective="own")
    raters, run = [make_rater(study=study) for _ in range(3)], make_run(study=study)
    for _ in range(3):
        item = make_item(study=study, first_person="r1")
        judge_item(run, item, "r1", 90)
        for rater in raters:
            answer(rater, item, "r2", 90)

    report, page = whole(study)

    assert report["headline"]["state"] == "no_truth"
    assert report["human"]["individual"]["accuracy"] is None
    assert "People answered for themselves, so no answer is right or wrong." in page
    assert "How well do people judge for others?" not in page


def test_judges_without_people():
    study = make_study()
    run = make_run(study=study)
    for choice in ("r1", "r2"):
        judge_item(run, make_item(study=study, first_person="r1"), choice, 85)

    report, page = whole(study)

    assert report["headline"]["state"] == "judges_only"
    assert report["judges"][0]["accuracy"] == 0.5
    difference = report["comparison"][0]["difference"]
    assert (difference["value"], difference["value_reason"]) == (None, "empty_group")
    assert "nothing to compare with" in page


def test_one_annotator():
    study = make_study()
    rater = make_rater(study=study)
    for choice in ("r1", "r2", "r1"):
        answer(rater, make_item(study=study), choice, 50)

    report, _ = whole(study)

    assert report["human"]["agreement"]["bootstrap"]["mean_reason"] == "no_pairs"
    assert report["human"]["individual"]["ci_reason"] == "too_few_annotators"
    low = report["human"]["individual"]["low"]
    assert low["pigeonhole_ci_reason"] == "too_few_annotators"


def test_people_who_always_tie():
    study = make_study()
    one, two = make_rater(study=study), make_rater(study=study)
    run = make_run(study=study)
    for _ in range(4):
        item = make_item(study=study)
        answer(one, item, "r1", 90)
        answer(two, item, "r2", 90)
        judge_item(run, item, "r1", 90)

    report, _ = whole(study)

    majority = report["human"]["majority"]
    assert (majority["n"], majority["ties"]) == (0, 4)
    assert report["human"]["individual"]["accuracy"] == 0.5
    assert "their answers tie on 4" in report["headline"]["sentences"][1]


def test_no_truth():
    study = make_study()
    raters = [make_rater(study=study) for _ in range(2)]
    run = make_run(study=study)
    for _ in range(4):
        item = make_item(study=study, first_person="")
        for rater in raters:
            answer(rater, item, "r1", 90)
        judge_item(run, item, "r1", 90)

    report, page = whole(study)

    assert report["headline"]["state"] == "no_truth"
    assert report["judges"][0]["excluded"]["no_truth"] == 4
    assert report["comparison"][0]["agreement_with_majority"] == 1.0
    assert report["comparison"][0]["mcnemar"]["p_reason"] == "no_discordant"
    assert "No right answers are known" in page


def test_a_judge_that_failed_on_everything():
    study = make_study()
    rater = make_rater(study=study)
    run = make_run(study=study)
    for state in ("unparseable", "refused", "error", "skipped", "pending"):
        item = make_item(study=study)
        answer(rater, item, "r1", 70)
        judge_item(run, item, state=state)

    report, _ = whole(study)

    judge = report["judges"][0]
    assert (judge["n"], judge["accuracy"], judge["accuracy_reason"]) == (0, None, "empty_group")
    assert judge["excluded"] == {
        "tie": 0,
        "no_truth": 0,
        "refused": 1,
        "unparseable": 1,
        "skipped": 1,
        "error": 1,
        "open": 1,
    }
    assert report["headline"]["state"] == "people_only"


def test_no_high_certainty_at_all():
    study = make_study()
    rater, run = make_rater(study=study), make_run(study=study)
    for _ in range(12):
        item = make_item(study=study)
        answer(rater, item, "r1", 79)
        judge_item(run, item, "r1", 79)

    report, _ = whole(study)

    assert report["human"]["majority"]["high"] == {
        "n": 0,
        "correct": 0,
        "accuracy": None,
        "accuracy_reason": "empty_group",
        "ci": None,
        "ci_reason": "empty_group",
        "clusters": {
            "personas": 0,
            "questions": 0,
            "people": 0,
            "ci": None,
            "ci_reason": "empty_group",
        },
    }
    assert report["selective"][0]["coverage"] == 0.0
    assert report["selective"][0]["guarantee"] == "none"
    told = "often enough to say how often they are correct then (n = 0 and n = 0)"
    assert told in report["headline"]["sentences"][3]


def test_a_study_that_does_not_ask_for_certainty():
    study = make_study(ask_certainty=False)
    rater, run = make_rater(study=study), make_run(study=study, setting="standard")
    for _ in range(12):
        item = make_item(study=study)
        answer(rater, item, "r1", None)
        judge_item(run, item, "r1")

    report, page = whole(study)

    assert report["human"]["majority"]["no_certainty"] == 12
    assert report["judges"][0]["calibration"]["ece_reason"] == "empty_group"
    assert report["comparison"][0]["certainty"]["spearman_reason"] == "too_few_items"
    assert "Nobody was asked for a certainty" in page


def test_a_certainty_of_exactly_80_is_high_and_a_mean_of_79_5_is_low():
    study = make_study()
    one, two = make_rater(study=study), make_rater(study=study)
    exact, below = make_item(study=study), make_item(study=study)
    for rater, certainties in ((one, (80, 79)), (two, (80, 80))):
        answer(rater, exact, "r1", certainties[0])
        answer(rater, below, "r1", certainties[1])

    report, _ = whole(study)

    majority = report["human"]["majority"]
    assert (majority["high"]["n"], majority["low"]["n"], majority["at_threshold"]) == (1, 1, 1)


def test_people_who_were_offered_no_tie_where_all_truths_are_ties():
    study = make_study(allow_tie=False)
    rater, run = make_rater(study=study), make_run(study=study, setting="tie")
    for _ in range(3):
        item = make_item(study=study, first_person="tie")
        answer(rater, item, "r1", 60)
        judge_item(run, item, "tie")

    report, _ = whole(study)

    assert report["headline"]["state"] == "judges_only"
    assert report["headline"]["sentences"][1].startswith("Annotators decided 3 items, but none")


def test_what_never_varies_has_no_interval_of_width_zero():
    study = make_study()
    raters = [make_rater(study=study) for _ in range(3)]
    run = make_run(study=study)
    for _ in range(40):
        item = make_item(study=study, first_person="r1")
        for rater in raters:
            answer(rater, item, "r1", 50)
        judge_item(run, item, "r1", 50)

    report, page = whole(study)

    assert report["human"]["individual"]["low"]["pigeonhole_ci_reason"] == "no_variation"
    assert {row[6] for row in all_tables(report)["recalibration"].rows} == {None}
    assert "At certainty 80: too few answers to mark" in page


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


def test_a_true_tie_counts_only_where_one_was_offered():
    study = make_study(allow_tie=False)
    item = make_item(study=study, first_person="tie")
    answer(make_rater(study=study), item, "r1", 60)
    judge_item(make_run(study=study, setting="tie"), item, "tie")
    judge_item(make_run(study=study, judge="other"), item, "r1", 60)

    report, _ = whole(study)

    assert report["human"]["majority"]["no_truth"] == 1
    scored = {judge["setting"]: judge["n"] for judge in report["judges"]}
    assert scored == {"certainty": 0, "tie": 1}


def test_a_mean_of_votes_is_that_of_the_winners_alone():
    study = make_study()
    item = make_item(study=study)
    for choice, certainty in (("r1", 70), ("r1", 90), ("r2", 100)):
        answer(make_rater(study=study), item, choice, certainty)

    report, _ = whole(study)

    assert report["items"][0]["people"] == {"choice": "r1", "certainty": 80.0, "correct": True}


def test_the_agreement_table_says_why_a_coefficient_is_undefined():
    study = make_study()
    raters = [make_rater(study=study) for _ in range(2)]
    for _ in range(3):
        item = make_item(study=study)
        for rater in raters:
            answer(rater, item, "r1", 70)

    report, page = whole(study)

    rows = {row[0]: row[1:] for row in all_tables(report)["agreement"].rows}
    assert rows["Krippendorff's alpha"] == [None, None, "all values are the same"]
    assert rows["Pairs of people who agree"][0] == 1.0
    assert "all values are the same" in page


def test_questions_that_wait_for_their_answer_are_counted_as_no_judgments():
    study = make_study()
    items = [make_item(study=study) for _ in range(3)]
    run = make_run(study=study, state="running")
    judge_item(run, items[0], "r1", 70)
    judge_item(run, items[1], state="refused")
    judge_item(run, items[2], state="pending")

    report, _ = whole(study)

    assert report["inputs"]["judgments"] == 2
