"""Ablations side by side, and what a label costs."""

import datetime

import pytest

from analysis.report.build import all_tables
from analysis.report.citation import methods_paragraph
from analysis.report.render import render_html
from judging.models import Attempt
from studies.models import Item, Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


def persona_of(study, value):
    features = [{"key": "sex", "label": "Sex", "value": value, "text": f"The person is a {value}."}]
    return make_persona(study=study, features=features)


@stored_at_once()
def study_of_two_groups(*, women=5, men=5):
    """Women are right about women and men about men; each person answers one item about each."""
    study = make_study(reward=300, currency="EUR")
    personas = {value: persona_of(study, value) for value in ("Woman", "Man")}
    raters = [
        make_rater(study=study, demographics={"gender": gender})
        for gender, count in (("woman", women), ("man", men))
        for _ in range(count)
    ]
    for rater in raters:
        for value, persona in personas.items():
            item = make_item(study=study, persona=persona, topic=value, first_person="r1")
            own = rater.demographics["gender"] == value.casefold()
            answer(rater, item, "r1" if own else "r2", 90)
    return study


@pytest.mark.nightly
def test_people_and_judges_cost_per_right_label():
    study = study_of_two_groups()
    run = make_run(study=study, judge="paid")
    for number, item in enumerate(Item.objects.filter(study=study).order_by("key")):
        judge_item(run, item, "r1" if number < 5 else "r2", 80)
    Attempt.objects.filter(judgment__run=run).update(cost_nano=500_000_000)

    rows = {row[0]: row[1:] for row in all_tables(report_of(study))["price"].rows}

    # Ten people at 3.00 EUR, 10 right answers; 20 requests at 0.50 USD, 5 right.
    assert rows["People, single answers"] == ["EUR", 30.0, 10, 3.0]
    assert rows["paid"] == ["USD", 10.0, 5, 2.0]


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    ("currency", "reward", "total", "shown", "sentence"),
    [
        ("JPY", 450, 4500.0, "4500", "promised 450 JPY each"),
        ("KRW", 6000, 60_000.0, "60000", "promised 6000 KRW each"),
        ("KWD", 1500, 15.0, "15.000", "promised 1.500 KWD each"),
        ("GBP", 450, 45.0, "45.00", "promised 4.50 GBP each"),
    ],
)
def test_sums_have_the_decimals_of_their_currency(currency, reward, total, shown, sentence):
    study = study_of_two_groups()
    Study.objects.filter(pk=study.pk).update(currency=currency, reward=reward)

    report = report_of(study)

    page = render_html(report, date=datetime.date(2026, 11, 20))
    pay = report["human"]["pay"]
    assert (pay["rewards"], pay["per_correct"]) == (total, total / 10)
    assert f"finished, for {shown} {currency} in rewards" in page
    assert sentence in methods_paragraph(report)
    cells = {row[0].text: row for row in all_tables(report)["price"].cells}
    assert cells["People, single answers"][2].text == shown


def test_ablations_stand_beside_the_whole_persona_with_the_share_of_high_certainty():
    study = make_study()
    runs = {
        features: make_run(study=study, features=features)
        for features in ("all", "age,education", "age", "none")
    }
    with stored_at_once():
        for number in range(40):
            item = make_item(study=study, first_person="r1")
            judge_item(runs["all"], item, "r1", 90)
            judge_item(runs["age,education"], item, "r1" if number < 30 else "r2", 90 - number)
            judge_item(runs["age"], item, "r2", 20)
            judge_item(runs["none"], item, "r2", None)

    table = all_tables(report_of(study))["ablation_cells"]

    heads = list(dict.fromkeys(column.group for column in table.columns if column.group))
    assert heads == ["whole persona", "age, education", "age", "no persona"]
    [row] = table.rows
    high, low, share = row[1:4]
    assert (high["n"], low["n"], share) == (40, 0, 1.0)
    # Certainties from 90 down to 51: eleven of them are 80 or more.
    assert (row[4]["n"], row[4]["correct"], row[6], row[7]) == (11, 11, 11 / 40, -0.25)
    assert (row[8]["n"], row[10], row[11]) == (0, 0.0, -1.0)
    assert (row[14], row[15]) == (None, -1.0)
