"""What a report says in words: what is missing and why, the side, the method, how to cite it."""

import datetime
import re
from itertools import product
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.template.loader import render_to_string

from analysis.lifecycle.build_job import write_report
from analysis.report.build import all_sentences
from analysis.report.citation import bibtex, methods_paragraph
from analysis.report.render import render_html
from analysis.report.sections.certainty.section import certainty_headline
from analysis.report.sections.position import lights as lights_of
from analysis.report.tables import TableColumn
from analysis.templatetags.report_words import MEANINGS, meaning
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db

DATE = datetime.date(2026, 11, 20)


@stored_at_once()
def answered(study, *, people=2, items=12, choice="r1", certainty=85, **item):
    raters = [make_rater(study=study) for _ in range(people)]
    made = [make_item(study=study, **{"first_person": "r1"} | item) for _ in range(items)]
    for each, rater in product(made, raters):
        answer(rater, each, choice, certainty)
    return made


def missing(report):
    return [str(sentence.text) for sentence in all_sentences(report, "missing")]


FAILED = ["unparseable"] * 7 + ["refused"] * 3 + ["error"] * 2


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("answers", "judged", "sentence"),
    [
        ({"first_person": ""}, [], "all comparisons of accuracy are undefined"),
        ({"people": 1}, [], "One person gave all answers. Agreement among people is unknown"),
        ({}, [], "All of people's answers are the same."),
        (
            {"certainty": 79},
            [{"choice": "r1", "certainty": 60}] * 12,
            "People and steady never state 80 or more, so the cells of high certainty",
        ),
        (
            {"certainty": 50},
            [{"choice": "r1", "certainty": 95}] * 12,
            "steady states 80 or more every time, so this threshold cannot separate",
        ),
        (
            {},
            [{"state": state} for state in FAILED],
            "no readable answer to any of 12 items (3 refused, 7 unreadable, 2 failed)",
        ),
        ({}, [{"choice": "r1", "certainty": 60}] * 5, "steady was asked about 5 items (of 12)"),
    ],
    ids=["truth", "people", "variation", "high", "low", "readable", "asked"],
)
def test_what_is_missing_is_said_above_everything_else(answers, judged, sentence):
    study = make_study()
    items = answered(study, **answers)
    run = make_run(study=study) if judged else None
    with stored_at_once():
        for item, given in zip(items, judged, strict=False):
            judge_item(run, item, **given)

    report = report_of(study)

    assert [text for text in missing(report) if sentence in text]
    assert "What is missing here" in render_html(report, date=DATE).split('id="accuracy"')[0]


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

    lights = {light.light: str(light.text) for light in lights_of(report_of(study))}

    assert lights["red"].startswith(
        "lefty leans to side A: side A was chosen in 100.0 % of 80 answers"
    )
    assert {"unknown", "green"} & lights.keys()


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
    assert "4 people finished; the study promised 3.40 GBP each for about 15 minutes." in words
    model = "model-2024-05-13, temperature 0.7, top-p 0.95"
    assert (
        f"lefty ({model}) and steady ({model}) judged 12 items each from the whole persona; from "
        "age and politics alone (setting “certainty”, order of the responses: random, one reading "
        "of each item, 12 judgments each)."
    ) in words
    assert "lefty (whole persona) gave no readable answer to 1 of 12 items." in words
    assert "The majority of people was correct on 100.0 % of 12 items" in words


def test_the_report_and_the_source_of_its_items_can_be_cited():
    source = "@inproceedings{bank, title = {A bank}}"
    study = make_study(slug="a-study", title="50 % of {all}", source={"citation": source})
    answered(study)

    text = bibtex(report_of(study), DATE)

    assert text.startswith("@misc{astudy2026,\n")
    assert r"title = {{50 \% of \{all\}: people and judges}}" in text
    assert source in text


def test_a_run_says_on_which_days_it_asked_its_model(tmp_path):
    study = make_study()
    run = make_run(study=study)
    days = ("2026-11-18", "2026-11-20", "2026-11-19")
    for day, item in zip(days, answered(study, items=3), strict=True):
        made = judge_item(run, item, "r1", 60)
        made.attempts.update(sent_at=f"{day}T23:30:00Z")

    write_report(study.slug, out=tmp_path / "r", seed=1, bootstrap=100)

    page = (tmp_path / "r" / "report.html").read_text("utf-8")
    assert "<dt>asked on (UTC)</dt><dd>2026-11-18 to 2026-11-20</dd>" in page
    assert "2026-11-18" not in (tmp_path / "r" / "report.json").read_text("utf-8")


def test_a_share_of_fewer_than_ten_is_a_count_in_sentences():
    study = make_study()
    run = make_run(study=study)
    item = make_item(study=study, first_person="r1")
    answer(make_rater(study=study), item, "r1", 60)
    judge_item(run, item, "r1", 60)

    report = report_of(study)

    for words in ("was correct on 1 of 1 item", "has 1 item about 1 persona", "1 person gave 1 "):
        assert words in methods_paragraph(report)
    assert {light.light for light in lights_of(report)} == {"unknown"}
    page = render_html(report, date=DATE)
    shown = re.sub(r"<[^>]+>", "", page)
    assert "100.0\u00a0% of 1 " not in shown
    assert not re.search(r"(?<![\d.,–])1 (people|items in common|items, \d|items about)", shown)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("sign", "people", "begins"),
    [
        (1, 10, "The certainty of steady rises with that of people: Spearman's"),
        (-1, 10, "The certainty of steady falls with that of people: Spearman's"),
        (0, 10, "We cannot tell whether the certainty of steady rises with"),
        (1, 1, "We cannot tell whether the certainty of steady rises with"),
    ],
)
def test_certainties_go_together_only_where_an_interval_says_so(sign, people, begins):
    study = make_study()
    run, raters = make_run(study=study), [make_rater(study=study) for _ in range(people)]
    with stored_at_once():
        for number in range(40):
            item = make_item(study=study, first_person="r1")
            answer(raters[number * 3 % people], item, "r1", 40 + number)
            judge_item(run, item, "r1", 60 + (number * 7) % 10 + (sign * number) // 2)

    report = report_of(study)
    first = report["certainty_headline"]["sentences"][0]
    unclaimed = certainty_headline(report | {"claims_tested": {}})["sentences"][0]

    assert first.startswith(begins)
    assert unclaimed.startswith("We cannot tell whether")
    assert ("(95 % CI" if people > 1 else "(no interval: people too few") in first


@pytest.mark.nightly
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
    low, high = certainty["spearman_general_ci"]
    assert low < 0 < certainty["spearman"]
    first = report["certainty_headline"]["sentences"][0]
    assert f"(95 % CI {low:.2f} to {high:.2f})".replace("-", "−") in first


def test_a_heading_that_only_experts_know_has_a_tooltip():
    columns = [TableColumn("Who"), TableColumn("Holm p", "p")]
    table = SimpleNamespace(groups=[("AURC", 2)], columns=columns)

    html = render_to_string("analysis/report/_table_head.html", {"table": table})

    titles = re.findall(r'title="([^"]+)"', html)
    assert titles == [MEANINGS["AURC"], MEANINGS["Holm p"]]


def test_every_heading_of_a_test_or_an_abbreviation_is_explained():
    modules = [
        path for app in ("analysis", "extras") for path in (settings.BASE_DIR / app).rglob("*.py")
    ]
    headings = {
        heading
        for path in modules
        for heading in re.findall(r'\("([^"]+)", "(?:p|decimal|number)"', path.read_text("utf-8"))
    }
    for_experts = {each for each in headings if re.match(r"Holm|Adjusted|[A-Z-]{3,}$", each)}

    assert len(for_experts) > 3
    assert [each for each in for_experts - {"USD"} if not meaning(each)] == []
