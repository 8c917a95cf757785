"""The page of disagreements: roles, filters in the address, notes, hostile text, queries."""

import csv
import io
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_study, sign_in, stored_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(slug="one")


@stored_at_once()
def fill(study, n=3, *, judge="steady", **item):
    """Items on which the annotator is right and the judge wrong."""
    run, rater = make_run(study=study, judge=judge), make_rater(study=study)
    for number in range(n):
        made = make_item(study=study, key=f"i{number:03}", first_person="r1", **item)
        answer(rater, made, "r1", 40)
        judge_item(run, made, "r2", 90)
    return run


def page(study, client=None, role="viewer", **query):
    client = client or sign_in(study, role)
    return client.get(reverse("disagreements:list", args=[study.slug]), query)


def text_of(response):
    return " ".join(response.content.decode().split())


def test_the_list_shows_who_answered_what(study):
    run = fill(study, 1, topic="food")

    found = text_of(page(study))

    assert 'Annotators right, judge wrong <span class="amount">1</span>' in found
    assert "100 % of 1, certainty 40" in found
    assert "✖ wrong" in found
    assert "certainty 90" in found
    assert f"items/i000/?list=disagreements&amp;run={run.public_id}" in found
    assert "“" not in re.findall(r'id="address"[^>]*', found)[0]


def test_a_link_restores_the_view(study):
    fill(study, 2, topic="food")
    client = sign_in(study, "viewer")
    first = page(study, client, topic="food", judge_from="85", show="certain-wrong")
    # Another judge, which would come first in a new view.
    make_run(study=study, judge="a judge")

    again = client.get(first.context["address"].removeprefix("http://testserver"))

    assert again.context["chosen"] == first.context["chosen"]
    assert [line.row.key for line in again.context["lines"]] == ["i000", "i001"]
    assert again.context["run"].judge.name == "steady"


def test_the_list_is_a_csv_file_too(study):
    fill(study, 3, topic="=1+1")
    response = page(study, show="all", format="csv")

    rows = list(csv.DictReader(io.StringIO(response.content.decode())))

    assert [row["item_id"] for row in rows] == ["i000", "i001", "i002"]
    assert (rows[0]["annotators"], rows[0]["judge"], rows[0]["judge_certainty"]) == (
        "r1",
        "r2",
        "90.0",
    )
    assert rows[0]["topic"] == "'=1+1"


def test_a_study_without_items_or_judges_says_what_is_missing(study):
    assert "This study has no items yet" in text_of(page(study))
    make_item(study=study)
    assert "No judge has judged this study yet" in text_of(page(study, show="all"))


def test_the_page_asks_the_same_queries_for_any_number_of_items(
    study, django_assert_max_num_queries
):
    fill(study, 1)
    client = sign_in(study, "viewer")
    page(study, client)
    with CaptureQueriesContext(connection) as few:
        page(study, client)
    most = len(few)
    other = make_study(slug="two")
    fill(other, 60)
    for n in range(20):
        make_run(study=other, judge=f"judge {n}")
    stranger = sign_in(other, "viewer")
    page(other, stranger)

    with django_assert_max_num_queries(most):
        page(other, stranger)
    assert most < 30
