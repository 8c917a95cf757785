"""The page of disagreements: roles, filters in the address, notes, hostile text, queries."""

import csv
import io
import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.data import item_comparisons
from analysis.disagreements import comparisons
from analysis.disagreements.notes import save_note
from analysis.models import Comparison
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_study, sign_in, stored_at_once

pytestmark = pytest.mark.django_db
SCRIPT = "<script>alert(1)</script>"


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


@pytest.mark.parametrize(("role", "status"), [("viewer", 200), ("owner", 200), ("", 404)])
def test_members_see_the_page_and_others_do_not(study, role, status):
    client = sign_in(study, role)

    assert page(study, client).status_code == status
    address = reverse("disagreements:status", args=["one"])
    assert client.get(address).status_code == status
    assert client.post(reverse("disagreements:list", args=["one"])).status_code == 405


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


def test_pages_lead_to_each_other_by_key(study):
    fill(study, 30)
    client = sign_in(study, "viewer")

    first = page(study, client)
    second = page(study, client, after=first.context["last"])

    assert [line.row.key for line in second.context["lines"]] == [f"i{n:03}" for n in range(25, 30)]
    assert "after=i024" in text_of(first)
    assert "before=i025" in text_of(second)
    assert first.context["total"] == second.context["total"] == 30


def test_notes_and_tags_are_shown_and_filter_the_list(study):
    fill(study, 3)
    user = User.objects.create_user("ada")
    item = study.all_items.get(key="i001")
    save_note(study, item.pk, "i001", text="Ironic.", tags=["irony"], version=0, user=user)
    client = sign_in(study, "viewer")

    for tag in ("irony", "*"):
        found = page(study, client, tag=tag)
        assert [line.row.key for line in found.context["lines"]] == ["i001"]
        assert found.context["total"] == 1
        assert "Ironic." in text_of(found)
    assert page(study, client, tag="other").context["total"] == 0
    assert "Clear filters" in text_of(page(study, client, tag="other"))


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


def test_hostile_text_is_shown_as_text(study):
    features = [{"key": SCRIPT, "label": SCRIPT, "value": SCRIPT, "text": SCRIPT}]
    run = fill(study, 1, judge=SCRIPT, topic=SCRIPT, question=SCRIPT, r1={"text": SCRIPT})
    study.personas.update(features=features)
    make_run(study=study, judge=f"other {SCRIPT}", features=SCRIPT)
    client = sign_in(study, "viewer")

    for query in ({}, {"topic": SCRIPT, "feature": SCRIPT, "tag": SCRIPT, "after": SCRIPT}):
        found = page(study, client, **query | {"run": run.public_id}).content.decode()
        assert SCRIPT not in found
        assert "&lt;script&gt;" in found


def test_a_study_without_items_or_judges_says_what_is_missing(study):
    assert "This study has no items yet" in text_of(page(study))
    make_item(study=study)
    assert "No judge has judged this study yet" in text_of(page(study, show="all"))


def test_a_large_study_shows_the_progress_until_it_was_compared(study, monkeypatch):
    run = fill(study, 3)
    monkeypatch.setattr(item_comparisons, "SMALL", 0)
    monkeypatch.setattr(comparisons, "queue", lambda task, pk: None)
    client = sign_in(study, "viewer")

    first = page(study, client)

    assert "Waiting for a worker." in text_of(first)
    status = client.get(first.context["status_url"]).json()
    assert status["open"]
    Comparison.objects.update(state="running", progress=40, message="400 items compared.")
    assert client.get(first.context["status_url"]).json()["progress"] == 40
    assert Comparison.objects.get().run == run


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
