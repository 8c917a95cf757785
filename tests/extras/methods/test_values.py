"""The chapter on values: how often people and judges choose the side of each."""

from datetime import date

import numpy as np
import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_tables
from analysis.report.render import render_html
from analysis.report.study import shared_by
from analysis.stats import Votes
from analysis.stats.core.proportions import wilson_interval
from analysis.stats.core.shared_variance import Sharing
from extras.methods.values import ItemValues, _chosen
from studies.models import Item
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db
QUESTION = "What would this person do?"


@pytest.fixture
@stored_at_once()
def study():
    """40 dilemmas. “Honesty” is on the side to act in 30 of them, on the other in 10.

    People choose to act at 20 of the first 30, the judge always. “Care” is always on both sides,
    and “luck” on one side of 9, too few for a row.
    """
    study = make_study(task="survey_answer", extras=["methods"])
    run = make_run(study=study)
    raters = [make_rater(study=study) for _ in range(3)]
    nobody = make_persona(study=study)
    for n in range(40):
        own, other = ["Honesty", "care"], ["care", *(["luck"] if n < 9 else [])]
        sides = (own, other) if n < 30 else (other, own)
        item = make_item(
            study=study,
            key=f"i{n:02}",
            task="survey_answer",
            persona=nobody,
            question=QUESTION,
            context=f"Dilemma {n}.",
            first_person="",
            metadata=dict(zip(("to_do", "not_to_do"), sides, strict=True)),
        )
        for rater in raters:
            answer(rater, item, "r1" if n < 20 else "r2")
        judge_item(run, item, "r1", None)
    return study


def test_shares_of_a_value_are_counted_where_it_is_on_one_side_only(study):
    report = report_of(study)

    values = report["item_values"]
    assert (values["items"], values["names"]) == (40, 2)
    assert values["rows"] == [{"name": "honesty", "items": 40, "acts": 0.75}]
    [people] = values["people"]
    # Honesty's side at 20 of the first 30 items and at all of the other 10.
    assert (people["n"], people["chosen_n"], people["value"]) == (120, 90, 0.75)
    [judge] = values["judges"]
    assert (judge["chosen"][0]["n"], judge["chosen"][0]["chosen_n"]) == (40, 30)
    wilson = wilson_interval(30, 40)
    assert wilson is not None
    assert judge["chosen"][0]["ci"] == pytest.approx((wilson.low, wilson.high), abs=0.02)
    assert not faults({"item_values": values})


def test_the_page_and_the_download_have_one_table(study):
    report = report_of(study)

    rows = all_tables(report)["item_values"].rows
    assert [row[:4] for row in rows] == [
        ["honesty", 40, 0.75, "People"],
        ["honesty", 40, 0.75, "steady"],
    ]
    page = render_html(report, date=date(2026, 1, 2))
    assert "How often the side of a value was chosen" in page
    assert "40 items say which values" in page


def test_dilemmas_are_different_questions_though_their_words_are_the_same(study):
    data = load_dataset(study.slug)

    assert {item.question for item in data.items} == {QUESTION}
    votes = Votes.from_long(data.answers.item, data.answers.rater, data.answers.choice)
    assert np.unique(shared_by(data, votes).question).size == 40


def test_without_values_or_without_the_extra_there_is_no_chapter(study):
    study.extras = []
    study.save(update_fields=["extras"])
    assert "item_values" not in report_of(study)

    study.extras = ["methods"]
    study.save(update_fields=["extras"])
    Item.objects.filter(study=study).update(metadata={})
    assert "item_values" not in report_of(study)


def test_all_intervals_hold_together_though_values_share_dilemmas():
    """Sets of 300 dilemmas with 25 values, some nearly always together; the judge is a coin."""
    rng = np.random.default_rng(4)
    hold, sets = 0, 200
    for _ in range(sets):
        topic = rng.integers(0, 5, 300)
        sides = []
        for n in range(300):
            near = [f"v{5 * topic[n] + k}" for k in range(5) if rng.random() < 0.8]
            place = int(rng.integers(0, 2))
            pair = (frozenset(near), frozenset({f"v{rng.integers(0, 25)}"}))
            sides.append(pair if place else pair[::-1])
        rows = ItemValues(tuple(sides)).on_one_side()
        assert len(rows) == 25
        choice = rng.integers(0, 2, 300)
        chosen = _chosen(rows, 300, np.arange(300), choice, Sharing.of_items(300, {}))
        hold += all(entry["ci"][0] <= 0.5 <= entry["ci"][1] for entry in chosen)
    assert hold / sets >= 0.93


def test_few_dilemmas_are_said_instead_of_an_empty_table(study):
    Item.objects.filter(study=study, key__gte="i09").update(metadata={})

    report = report_of(study)

    assert report["item_values"]["rows"] == []
    assert "item_values" not in all_tables(report)
    assert "None has ten dilemmas" in render_html(report, date=date(2026, 1, 2))
