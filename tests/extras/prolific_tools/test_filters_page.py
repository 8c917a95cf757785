"""Filters of Prolific's list are found by words, added to a plan, combined and removed."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.prolific.api.client import connect
from annotation.prolific.launch import launch
from demo.prolific.records import WORKSPACE
from tests.annotation.prolific.life import make_recruiting, unchecked

pytestmark = pytest.mark.django_db
PERSON, OTHER = "a" * 24, "b" * 24


@pytest.fixture
def page(prolific, client):
    study = make_recruiting()
    client.force_login(User.objects.create_superuser("ada"))
    url = reverse("prolific_tools:filters", args=[study.slug])

    def post(**sent):
        response = client.post(url, sent)
        return response, list(launch.plan_of(study).filters)

    post.study = study
    return post


def test_filters_are_added_combined_and_removed_on_their_page(page, prolific):
    group = connect(page.study.pk).create_group("Panel", workspace=WORKSPACE)

    page(filter="diet", choice=["Vegan", "Vegetarian"])
    page(filter="age", low="60", instead_of="0")
    page(filter="sex", choice=["Male"], instead_of="0+and")
    page(filter="participant_group_blocklist", choice=[group])
    response, filters = page(filter="custom_blocklist", ids=f"{PERSON}, {OTHER}")

    either = {
        "any": [
            {"filter": "diet", "labels": ["Vegan", "Vegetarian"]},
            {"all": [{"filter": "age", "low": "60"}, {"filter": "sex", "labels": ["Male"]}]},
        ]
    }
    assert response.status_code == 302
    assert filters == [
        either,
        {"filter": "participant_group_blocklist", "labels": [group]},
        {"filter": "custom_blocklist", "labels": [PERSON, OTHER]},
    ]
    with unchecked():
        (row,) = launch.launch(study_id=page.study.pk)
    first = prolific.world.studies[row.prolific_id]["filters"][0]
    assert [one["filter_id"] for one in first["selected_filters"]] == ["diet", "and"]
    launch.forget_drafts(study_id=page.study.pk)
    assert page(remove="1")[1] == [either, filters[2]]


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"filter": "gone", "choice": ["x"]}, "no such filter"),
        ({"filter": "diet"}, "choose at least one"),
        ({"filter": "diet", "choice": ["<b>"]}, "no choice “&lt;b&gt;”"),
        ({"filter": "age"}, "the lowest or the highest"),
        ({"filter": "age", "low": "x"}, "takes whole numbers"),
        ({"filter": "age", "low": "10"}, "allows from 18"),
        ({"filter": "custom_allowlist", "ids": "me"}, "ids of 24 characters"),
    ],
)
def test_what_no_filter_has_is_refused_by_name_and_changes_nothing(sent, words, page):
    response, filters = page(**sent)

    assert response.status_code == 422
    assert words in response.content.decode()
    assert filters == []


def test_filters_are_found_by_words(client, prolific):
    study = make_recruiting()
    client.force_login(User.objects.create_superuser("ada"))
    url = reverse("prolific_tools:filters", args=[study.slug])

    missing = client.get(url, {"search": "vegan <b>"}).content.decode()
    found = client.get(url, {"search": "VEGAN diet"}).content.decode()

    assert "No filter has “vegan &lt;b&gt;”" in missing
    assert "Diet</h3>" in found
    assert "Which diet do you follow?" in found
    plan = client.get(reverse("people:prolific-plan", args=[study.slug])).content.decode()
    assert url in plan
