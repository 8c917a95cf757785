"""The chapter on advice: answers before and after it, of people and of judges."""

from datetime import date

import pytest
from django.utils import timezone

from analysis.data.dataset import load_dataset
from analysis.report.render import render_html
from annotation.models import InitialAnswer
from extras.advice.answers_before import Advised
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_study, store, stored_at_once

pytestmark = pytest.mark.django_db

ADVICE = {"kind": "debate", "title": "", "text": "Take the second.", "favors": "r2"}


@pytest.fixture
@stored_at_once()
def study():
    """Twelve people and a judge at ten items; four of ten first answers follow the advice."""
    study = make_study()
    items = [make_item(study=study, advice=ADVICE, key=f"i{n}") for n in range(10)]
    run = make_run(study=study, setting="certainty")
    for item in items:
        said = {"before_advice": {"choice": "r1", "certainty": 80}}
        judge_item(run, item, "r2", 90, details=said)
    for n in range(12):
        rater = make_rater(study=study)
        for k, item in enumerate(items):
            follows = (n + k) % 10 < 4
            made = answer(rater, item, "r2" if follows else "r1", 70)
            store(
                InitialAnswer(
                    assignment=made.assignment,
                    choice="r1",
                    certainty=85 if k < 5 else 60,
                    answered_at=timezone.now(),
                )
            )
    return study


def test_the_chapter_counts_who_was_persuaded(study):
    report = report_of(study)

    found = report["advice"]
    assert (found["items"], found["kinds"], found["favors"]) == (10, {"debate": 10}, 10)
    people, (judge,) = found["people"], found["judges"]
    assert people["n"] == 120
    assert people["persuaded"] | {"ci": 0, "ci_made": 0} == {
        "n": 120,
        "count": 48,
        "value": 0.4,
        "ci": 0,
        "ci_made": 0,
    }
    assert people["persuaded_sure"]["n"] == people["persuaded_unsure"]["n"] == 60
    assert people["shift"]["value"] == pytest.approx(0.4)
    assert people["accuracy"] == {"n": 120, "before": 1.0, "after": pytest.approx(0.6)}
    assert judge["judge"] == "steady"
    assert (judge["persuaded"]["count"], judge["persuaded"]["n"]) == (10, 10)
    assert judge["weight"]["value"] == pytest.approx((90 + 80) / 180)
    page = render_html(report, date=date(2026, 1, 2))
    assert 'id="advice"' in page
    assert "People: of 120 answers against the advice, 40" in page


def test_the_page_has_the_chapter_only_where_items_have_advice(study):
    plain = make_study()
    item = make_item(study=plain)
    answer(make_rater(study=plain), item, "r1")

    assert "advice" not in report_of(plain)
    assert load_dataset(plain.slug).of(Advised) is None
    assert load_dataset(study.slug).of(Advised) is not None


def test_answers_before_the_advice_are_part_of_the_hash_of_the_data(study):
    before = load_dataset(study.slug).inputs_hash
    InitialAnswer.objects.filter(assignment__item__key="i0").update(certainty=1)

    assert load_dataset(study.slug).inputs_hash != before
