"""Few people, many judgments: a chapter where a judge judged items that nobody answered."""

import datetime as dt
import random

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_sentences, all_tables
from analysis.report.render import render_html
from studies.models import Item
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import computed, report_of
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, stored_at_once

OTHER = {"r1": "r2", "r2": "r1"}


@stored_at_once()
def judged_study(*, n_items=120, answered=60, systems=False, **settings):
    """People answered the first items alike; the judge answered all, rightly where it is sure."""
    rng = random.Random(7)
    study = make_study(**settings)
    personas = [make_persona(study=study) for _ in range(30)]
    raters = [make_rater(study=study) for _ in range(15)]
    run = make_run(study=study)
    names = [{"generated_by": {"kind": "model", "name": name}} for name in ("alpha", "beta")]
    for number in range(n_items):
        liked = rng.choice(["r1", "r2"])
        made = names if systems else [{}, {}]
        item = make_item(
            study=study,
            key=f"i{number:03}",
            topic=("food", "travel")[number % 2],
            persona=personas[number % 30],
            question=f"Question {number}?",
            first_person="",
            r1={"text": "One."} | made[0],
            r2={"text": "Two."} | made[1],
        )
        if number < answered:
            for rater in rng.sample(raters, 3):
                answer(rater, item, liked, 70)
        sure = rng.random() < 0.5
        right = rng.random() < (0.97 if sure else 0.5)
        judge_item(run, item, liked if right else OTHER[liked], 95 if sure else 55)
    return study


def estimates(report):
    return report["estimation"]["judges"][0]["estimates"]


def findings(report):
    return [str(each.text) for each in all_sentences(report, "finding")]


@pytest.mark.django_db
def test_agreement_on_all_judged_items_is_estimated_from_the_answered_ones():
    study = judged_study()
    data = load_dataset(study.slug)
    people = dict(zip(data.answers.item, data.answers.choice, strict=True))
    rows = data.runs[0].judgments
    pairs = zip(rows.item, rows.choice, strict=True)
    same = [choice == people[item] for item, choice in pairs if item in people]

    report = computed(study, "estimation", bootstrap=60)

    [found] = estimates(report)
    assert (found["what"], found["against"]) == ("agreement", "people")
    assert (found["items"], found["answered"]) == (120, 60)
    assert found["alone"]["value"] == pytest.approx(sum(same) / 60)
    low, high = found["powered"]["ci"]
    assert low < found["powered"]["value"] < high
    assert 0 < found["weight"] <= 1
    assert found["saved"] > 0
    assert not faults({"estimation": report["estimation"]})


@pytest.mark.nightly
@pytest.mark.django_db
def test_the_page_has_the_chapter_its_tables_and_a_sentence_with_sources():
    report = report_of(judged_study())

    page = render_html(report, date=dt.date(2026, 5, 1))

    assert '<section id="estimation">' in page
    assert {"estimates", "estimates_calibrated"} <= set(all_tables(report))
    [said] = [words for words in findings(report) if "judged 120 items" in words]
    assert "both judge and people decided 60 of them" in said
    assert "Without the judge, an equally narrow interval needs" in said


@pytest.mark.nightly
@pytest.mark.django_db
def test_where_people_answered_everything_there_is_no_chapter():
    report = report_of(judged_study(answered=120))

    assert "estimation" not in report
    assert '<section id="estimation">' not in render_html(report, date=dt.date(2026, 5, 1))


@pytest.mark.django_db
def test_named_systems_have_their_share_of_wins_among_all_items():
    report = computed(judged_study(systems=True), "estimation", bootstrap=60)

    wins = {each["system"]: each for each in estimates(report) if each["what"] == "wins"}
    assert set(wins) == {"alpha", "beta"}
    values = [each["powered"]["value"] for each in wins.values()]
    assert sum(values) == pytest.approx(1)
    assert wins["alpha"]["calibrated"]["residual"]["ci"] is not None


@pytest.mark.django_db
def test_items_sampled_by_topic_are_estimated_topic_by_topic():
    study = judged_study(human_sample=60)

    assert computed(study, "estimation")["estimation"]["drawn"] == "topic"


@pytest.mark.nightly
@pytest.mark.django_db
def test_probabilities_of_a_draw_weigh_the_answers():
    study = judged_study(human_sample=60)
    plain = estimates(computed(study, "estimation"))[0]
    study.draw = {"judge": "steady"}
    study.save(update_fields=["draw"])
    Item.objects.filter(study=study).update(draw_probability=0.5)

    equal = computed(study, "estimation")
    Item.objects.filter(study=study, key__lt="i030").update(draw_probability=0.9)
    unequal = computed(study, "estimation")

    assert equal["estimation"]["drawn"] == "drawn"
    assert estimates(equal)[0]["alone"]["value"] == pytest.approx(plain["alone"]["value"])
    assert estimates(unequal)[0]["alone"] != estimates(equal)[0]["alone"]
    assert equal["inputs"]["hash"] != unequal["inputs"]["hash"]
