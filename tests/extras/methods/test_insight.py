"""The chapter on insight: M-ratios of people and of judges, and their differences."""

import datetime as dt
import random

import numpy as np
import pytest

from analysis.report.build import all_sentences, all_tables
from analysis.report.render import render_html
from analysis.stats import Sharing
from annotation.models import Annotation
from extras.methods.insight import INSIGHT
from extras.methods.stats import insight
from judging.models import Judgment
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import computed, report_of
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


def certain(rng, *, knows):
    """A choice that is right in seven of ten cases; its certainty knows whether, or nothing."""
    is_right = rng.random() < 0.7
    high = is_right == (rng.random() < knows)
    return is_right, rng.choice((80, 90, 100) if high else (40, 50, 60))


JUDGES = {"telling": 0.95, "blind": 0.5}


@stored_at_once()
def asked(*, knows, judges=("telling", "blind"), items=120):
    """Twelve people and judges; `knows` is the share that people's certainty tells."""
    rng, study = random.Random(2), make_study()
    raters = [make_rater(study=study) for _ in range(12)]
    runs = [make_run(study=study, judge=name) for name in judges]
    personas = [make_persona(study=study) for _ in range(20)]
    for number in range(items):
        truth = rng.choice(("r1", "r2"))
        wrong = {"r1": "r2", "r2": "r1"}[truth]
        item = make_item(
            study=study, key=f"i{number:03}", first_person=truth, persona=personas[number % 20]
        )
        for rater in rng.sample(raters, 3):
            is_right, certainty = certain(rng, knows=knows)
            answer(rater, item, truth if is_right else wrong, certainty)
        for run in runs:
            is_right, certainty = certain(rng, knows=JUDGES[run.judge.name])
            judge_item(run, item, truth if is_right else wrong, certainty)
    return study


SIDES = {"r1": 0, "r2": 1}


def test_the_chapter_shows_what_the_rows_give():
    study = asked(knows=0.75)

    report = computed(study, "insight")

    found = report["insight"]
    rows = Annotation.objects.values_list(
        "assignment__item__first_person", "choice", "certainty", "assignment__annotator_id"
    )
    truth, choice, certainty, person = zip(*rows, strict=True)
    people = insight(
        [SIDES[one] for one in truth],
        [SIDES[one] for one in choice],
        certainty,
        Sharing.of_items(len(rows), {"row": np.arange(len(rows))}),
        by=person,
    )
    assert found["people"]["m_ratio"] == pytest.approx(people.m_ratio)
    assert found["people"]["meta_d"] == pytest.approx(people.meta_d)
    assert (found["people"]["n"], found["people"]["n_right"]) == (360, people.n_right)
    for entry in found["judges"]:
        own = Judgment.objects.filter(run__judge__name=entry["judge"])
        truth, choice, certainty = zip(
            *own.values_list("item__first_person", "choice", "certainty"), strict=True
        )
        judge = insight(
            [SIDES[one] for one in truth],
            [SIDES[one] for one in choice],
            certainty,
            Sharing.of_items(120, {"row": np.arange(120)}),
        )
        assert entry["m_ratio"] == pytest.approx(judge.m_ratio)
        gap = entry["difference"]
        assert gap["value"] == pytest.approx(judge.m_ratio - people.m_ratio)
        assert gap["ci"][0] < gap["value"] < gap["ci"][1]
        assert gap["p_holm"] >= gap["p"]
    assert faults(report) == []


@pytest.mark.nightly
@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("knows", "judges", "words"),
    [
        (0.8, ["telling", "blind"], "blind has less insight than people: M-ratios "),
        (0.5, ["telling"], "telling has more insight than people: M-ratios "),
    ],
)
def test_the_page_says_who_has_more_insight(knows, judges, words):
    report = report_of(asked(knows=knows, judges=judges, items=300))

    page = render_html(report, date=dt.date(2026, 5, 1))

    assert '<section id="insight">' in page
    findings = [str(one.text) for one in all_sentences(report, "finding")]
    claims = [text for text in findings if " insight than people: " in text]
    assert [text for text in claims if not text.startswith("We cannot tell")] == [
        text for text in claims if text.startswith(words)
    ]
    assert any(text.startswith(words) for text in claims)
    table = all_tables(report)["insight"]
    assert [row[0] for row in table.rows] == ["People, single answers", *sorted(judges)]


def test_a_run_that_saw_less_of_the_persona_is_described_and_not_tested():
    study = asked(knows=0.5)
    study.judge_runs.filter(judge__name="blind").update(features="none")
    report = report_of(study)

    said = " ".join(str(one.text) for one in all_sentences(report, "finding"))
    assert "telling" in said
    assert "blind" not in said.split("Insight of people")[1]
    blind, telling = (one["difference"] for one in report["insight"]["judges"])
    assert blind["p_holm_reason"] == "less_of_persona"
    assert telling["p_holm"] == telling["p"]
    assert len(INSIGHT.claims(report)["insight against people"]) == 1


@pytest.mark.nightly
def test_without_a_difference_it_says_no_more():
    report = report_of(asked(knows=0.5, judges=["blind"]))

    words = [str(one.text) for one in all_sentences(report, "finding")]

    assert any("We cannot tell whether blind has more or less insight" in one for one in words)


@pytest.mark.nightly
def test_a_study_with_too_few_answers_or_no_certainty_has_no_chapter():
    study = asked(knows=0.75)
    Annotation.objects.update(certainty=None, certainty_asked=False)
    only_judges = report_of(study)
    Judgment.objects.update(certainty=None)
    nobody = report_of(study)

    assert only_judges["insight"]["people"]["m_ratio_reason"] == "empty_group"
    findings = [str(one.text) for one in all_sentences(only_judges, "finding")]
    assert "Insight: no M-ratio of people (nothing to count)." in findings
    assert "insight" not in nobody
    assert '<section id="insight">' not in render_html(nobody, date=dt.date(2026, 5, 1))
    assert "insight" not in computed(random_study(3, n_items=6), "insight")
