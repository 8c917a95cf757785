"""What a report says in words: what is missing and why, the side, the method, how to cite it."""

import datetime
import re
from itertools import product

import pytest

from analysis.data.dataset import load_dataset
from analysis.lifecycle.build_job import write_report
from analysis.report.build import all_figures, all_sentences, all_tables, build_report
from analysis.report.citation import bibtex, methods_paragraph
from analysis.report.render import render_html
from analysis.report.sections.position import lights as lights_of
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db

DATE = datetime.date(2026, 11, 20)


def report_of(study):
    return build_report(load_dataset(study.slug), seed=1, bootstrap=100)


@stored_at_once()
def answered(study, *, people=2, items=12, choice="r1", certainty=85, **item):
    raters = [make_rater(study=study) for _ in range(people)]
    made = [make_item(study=study, **{"first_person": "r1"} | item) for _ in range(items)]
    for each, rater in product(made, raters):
        answer(rater, each, choice, certainty)
    return made


def missing(report):
    return [str(sentence.text) for sentence in all_sentences(report, "missing")]


def said(study, sentence):
    """The sentence is among those on what is missing, and on the page above everything else."""
    report = report_of(study)
    page = render_html(report, date=DATE)
    found = [text for text in missing(report) if sentence in text]
    return bool(found) and "What is missing here" in page.split('id="glance"')[0]


def test_a_study_without_truth_says_that_nobody_can_be_right():
    study = make_study()
    answered(study, first_person="")

    assert said(study, "No item has a known answer of the person it is about.")


def test_some_items_without_truth_are_counted():
    study = make_study()
    answered(study)
    answered(study, items=3, first_person="")

    assert said(study, "3 items of 15 have no known answer and score nobody.")


def test_one_annotator_is_said_to_be_one():
    study = make_study()
    answered(study, people=1)

    assert said(study, "One person gave every answer. Agreement among people is unknown")


def test_equal_answers_are_said_to_be_equal():
    study = make_study()
    answered(study)

    assert said(study, "All answers of people are the same.")


def test_no_high_certainty_is_said_to_be_empty_and_not_zero():
    study = make_study()
    run = make_run(study=study)
    with stored_at_once():
        for item in answered(study, certainty=79):
            judge_item(run, item, "r1", 60)

    assert said(study, "people and steady never state 80 or more, so the cells of high certainty")


def test_a_judge_that_is_always_certain_is_not_separated_by_the_threshold():
    study = make_study()
    run = make_run(study=study)
    with stored_at_once():
        for item in answered(study, certainty=50):
            judge_item(run, item, "r1", 95)

    assert said(
        study,
        "steady states 80 or more every time, so this threshold cannot separate right from wrong "
        "answers. AUROC shows whether a higher certainty does.",
    )


def test_a_judge_that_failed_on_everything_has_no_accuracy_rather_than_0():
    study = make_study()
    run = make_run(study=study)
    states = ["unparseable"] * 7 + ["refused"] * 3 + ["error"] * 2
    with stored_at_once():
        for item, state in zip(answered(study), states, strict=True):
            judge_item(run, item, state=state)

    assert said(
        study,
        "steady has no readable answer to any of 12 items (3 refused, 7 unreadable, 2 failed). "
        "It has no accuracy; that is not an accuracy of 0.",
    )


def test_a_judge_that_saw_some_of_the_items_is_said_to():
    study = make_study()
    run = make_run(study=study)
    with stored_at_once():
        for number, item in enumerate(answered(study)):
            if number < 5:
                judge_item(run, item, "r1", 60)

    assert said(study, "steady was asked about 5 of 12 items")


def test_a_whole_study_misses_nothing():
    study = make_study()
    raters = [make_rater(study=study) for _ in range(3)]
    run = make_run(study=study)
    with stored_at_once():
        for number in range(40):
            item = make_item(study=study, first_person=("r1", "r2")[number % 2])
            for rater in raters:
                answer(rater, item, ("r1", "r2")[number % 3 == 0], (60, 90)[number % 2])
            judge_item(run, item, "r1", (50, 85)[number % 2])

    report = report_of(study)

    assert missing(report) == []
    assert "What is missing here" not in render_html(report, date=DATE)


def test_the_side_gets_a_light_and_a_sentence():
    study = make_study()
    steady, lefty = make_run(study=study), make_run(study=study, judge="lefty")
    with stored_at_once():
        for number in range(80):
            truth, first = ("r1", "r2")[number % 2], ("r1", "r2")[number // 2 % 2]
            item = make_item(study=study, first_person=truth)
            judge_item(steady, item, truth, 60, shown_first=first)
            judge_item(lefty, item, first, 60, shown_first=first)

    lights = {light["light"]: light["text"] for light in lights_of(report_of(study))}

    assert lights["red"].startswith("lefty leans to side A: chose side A in 100.0 % of 80 answers")
    no_side = "No side of 5 points or more for steady"
    assert "unknown" in lights or lights["green"].startswith(no_side)


def test_the_method_in_words_has_the_study_s_own_figures():
    study = make_study(reward=340, currency="GBP", minutes=15, source={"name": "our bank"})
    runs = [
        make_run(study=study, judge=judge, features=features)
        for judge in ("lefty", "steady")
        for features in ("all", "age,politics")
    ]
    with stored_at_once():
        for number, item in enumerate(answered(study, people=3)):
            for run in runs:
                if number:
                    judge_item(run, item, "r1", 90)
                else:
                    judge_item(run, item, state="unparseable")
    answer(make_rater(study=study), item, "r1", 90, standing="surplus")

    words = methods_paragraph(report_of(study))

    assert "The study has 12 items from our bank about" in words
    assert "3 people gave 36 answers, with a certainty from 1 to 100." in words
    assert "1 more answer is not counted, because the items had enough." in words
    assert "4 people finished and received 3.40 GBP each for about 15 minutes." in words
    model = "model-2024-05-13, temperature 0.7, top-p 0.95"
    assert (
        f"lefty ({model}) and steady ({model}) judged 12 items each from the whole persona; from "
        "age and politics alone (setting “certainty”, order of the responses: random, one reading "
        "of each item, 12 judgments). 4 of 48 judgments gave no readable answer."
    ) in words
    assert "The majority was correct on 100.0 % of 12 items" in words


def test_the_report_and_the_source_of_its_items_can_be_cited():
    source = "@inproceedings{bank, title = {A bank}}"
    study = make_study(slug="a-study", title="50 % of {all}", source={"citation": source})
    answered(study)

    text = bibtex(report_of(study), DATE)

    assert text.startswith("@misc{astudy2026,\n")
    assert r"title = {{50 \% of \{all\}: people and judges}}" in text
    assert source in text
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_a_run_says_on_which_days_it_asked_its_model(tmp_path):
    study = make_study()
    run = make_run(study=study)
    days = ("2026-11-18", "2026-11-20", "2026-11-19")
    for day, item in zip(days, answered(study, items=3), strict=True):
        made = judge_item(run, item, "r1", 60)
        made.attempts.update(sent_at=f"{day}T23:30:00Z")

    write_report(slug=study.slug, out=tmp_path / "r", threshold=None, seed=1, bootstrap=100)

    page = (tmp_path / "r" / "report.html").read_text("utf-8")
    assert "<dt>asked on (UTC)</dt><dd>2026-11-18 to 2026-11-20</dd>" in page
    assert "2026-11-18" not in (tmp_path / "r" / "report.json").read_text("utf-8")


def test_a_run_that_was_imported_has_no_days():
    study = make_study()
    run = make_run(study=study)
    with stored_at_once():
        for item in answered(study, items=3):
            judge_item(run, item, "r1", 60)

    page = render_html(report_of(study), date=DATE)

    assert "<dt>asked on (UTC)</dt><dd>not recorded</dd>" in page


def test_a_share_of_fewer_than_ten_is_a_count_in_sentences():
    study = make_study()
    run = make_run(study=study)
    item = make_item(study=study, first_person="r1")
    answer(make_rater(study=study), item, "r1", 60)
    judge_item(run, item, "r1", 60)

    report = report_of(study)

    assert "The majority was correct on 1 of 1 item" in methods_paragraph(report)
    lights = {light["light"]: light["text"] for light in lights_of(report)}
    assert lights == {
        "unknown": "steady chose side A in 1 of 1 answer: too few to say whether the side mattered."
    }
    page = render_html(report, date=DATE)
    assert "100.0 % of 1 " not in page
    assert "The study has 1 item about 1 persona; each asks" in methods_paragraph(report)
    assert "1 person gave 1 answer, with a certainty" in methods_paragraph(report)
    assert "steady (model-2024-05-13" in methods_paragraph(report)
    assert "judged 1 item from" in methods_paragraph(report)
    shown = re.sub(r"<[^>]+>", "", page)
    assert not re.search(r"(?<![\d.,–])1 (people|items in common|items, \d|items about)", shown)


def test_certainties_go_together_only_where_an_interval_says_so():
    together, apart, unclear = (make_study() for _ in range(3))
    with stored_at_once():
        for study, sign in ((together, 1), (apart, -1), (unclear, 0)):
            run, raters = make_run(study=study), [make_rater(study=study) for _ in range(10)]
            for number in range(40):
                item = make_item(study=study, first_person="r1")
                answer(raters[number * 3 % 10], item, "r1", 40 + number)
                wobble = (number * 7) % 10
                judge_item(run, item, "r1", 60 + wobble + (sign * number) // 2)

    first = [
        report_of(study)["certainty_headline"]["sentences"][0]
        for study in (together, apart, unclear)
    ]

    assert first[0].startswith("The certainty of steady rises with that of people: Spearman's")
    assert first[1].startswith("The certainty of steady falls with that of people: Spearman's")
    assert first[2].startswith("We cannot tell whether the certainty of steady rises with that of")
    assert all("(95 % CI" in sentence for sentence in first)


def test_certainties_that_share_a_few_personas_do_not_go_together_by_chance():
    study = make_study()
    run, raters = make_run(study=study), [make_rater(study=study) for _ in range(12)]
    personas = [make_persona(study=study) for _ in range(6)]
    with stored_at_once():
        for number in range(120):
            item = make_item(study=study, first_person="r1", persona=personas[number % 6])
            # Three personas are clear to each side, two of them to both; nothing else is in common.
            people, judge = (25 * (number % 6 in clear) for clear in ((0, 1, 4), (0, 3, 4)))
            answer(raters[number % 11], item, "r1", 60 + people + (number * 7) % 10)
            judge_item(run, item, "r1", 60 + judge + (number // 6 * 3) % 10)

    report = report_of(study)

    certainty = report["comparison"][0]["certainty"]
    (low, high), alone = certainty["spearman_general_ci"], certainty["spearman_ci"]
    assert low < 0 < alone[0]
    first = report["certainty_headline"]["sentences"][0]
    assert first.startswith("We cannot tell whether the certainty of steady rises with that of")
    assert f"(95 % CI {low:.2f} to {high:.2f})".replace("-", "−") in first


def test_certainties_of_too_few_people_are_not_said_to_go_together():
    study = make_study()
    run, rater = make_run(study=study), make_rater(study=study)
    with stored_at_once():
        for number in range(40):
            item = make_item(study=study, first_person="r1")
            answer(rater, item, "r1", 40 + number)
            judge_item(run, item, "r1", 40 + number // 2)

    first = report_of(study)["certainty_headline"]["sentences"][0]

    assert first.startswith("We cannot tell whether the certainty of steady rises with that of")
    assert "(no interval: people too few, or their shares of the answers too unequal)" in first


def test_overlapping_intervals_are_no_finding_that_certainty_is_worth_nothing():
    study = make_study()
    run = make_run(study=study)
    with stored_at_once():
        for number, item in enumerate(answered(study, certainty=50)):
            judge_item(run, item, "r1", (60, 95)[number % 2])

    figure = all_figures(report_of(study))["histograms"]

    assert figure.title == "Right and wrong answers by certainty"


def test_what_holds_for_these_annotators_only_is_labelled_so():
    study = make_study()
    run, raters = make_run(study=study), [make_rater(study=study) for _ in range(12)]
    with stored_at_once():
        for number in range(40):
            item = make_item(study=study, first_person="r1")
            answer(raters[number % 12], item, "r1" if number % 3 else "r2", 60)
            judge_item(run, item, "r1" if number % 4 else "r2", 60)

    table = all_tables(report_of(study))["difference_intervals"]

    groups = {column.heading: column.group for column in table.columns}
    conditional = ("Tango", "Wald", "McNemar p", "Holm p")
    assert [groups[heading] for heading in conditional] == ["these annotators only"] * 4
    assert groups["in general"] == groups["as the best"] == "95 % interval"
