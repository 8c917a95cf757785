"""The page's script gets the next item in the response to an answer; browsers without it do not."""

import pytest
from django.test import Client

from annotation.models import Annotation, AnnotationRevision, Assignment
from annotation.participants.item_views import ITEM
from tests.annotation.pages.walking import token_of

pytestmark = pytest.mark.django_db


def by_script(client, page, url="", **fields):
    data = {"assignment": token_of(page), "choice": "a", "certainty": "72"} | fields
    return client.post(url or page.request["PATH_INFO"], data, headers={"Accept": ITEM})


def test_the_response_is_the_page_of_the_next_item(client, study):
    response = by_script(client, client.get(f"/s/{study.slug}/task/"))

    assert response.status_code == 200
    assert response.headers["Content-Location"] == f"/s/{study.slug}/task/2/"
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "no-store" in response.headers["Cache-Control"]
    assert f'action="/s/{study.slug}/task/2/"' in response.content.decode()
    answered = by_script(client, response, f"/s/{study.slug}/task/2/", choice="b")
    assert answered.headers["Content-Location"] == f"/s/{study.slug}/task/3/"
    assert list(Annotation.objects.values_list("assignment__position", flat=True)) == [1, 2]


def test_after_the_last_item_it_is_a_redirect(client, study):
    page = client.get(f"/s/{study.slug}/task/")
    for position in (2, 3):
        page = by_script(client, page, f"/s/{study.slug}/task/{position - 1}/")

    response = by_script(client, page, f"/s/{study.slug}/task/3/")

    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/feedback/")


def test_an_answer_sent_twice_is_stored_once_and_both_get_the_next_item(client, study):
    page = client.get(f"/s/{study.slug}/task/")

    places = [by_script(client, page).headers["Content-Location"] for _ in range(2)]

    assert places == [f"/s/{study.slug}/task/2/"] * 2
    assert AnnotationRevision.objects.count() == 1


def test_a_browser_that_lost_its_cookie_is_bound_again_by_a_redirect(client, study):
    fresh = Client()

    response = by_script(fresh, client.get(f"/s/{study.slug}/task/"))

    assert response.status_code == 303
    assert fresh.get(response["Location"]).status_code == 200


def test_the_next_item_needs_few_queries(client, study, django_assert_max_num_queries):
    page = by_script(client, client.get(f"/s/{study.slug}/task/"))

    with django_assert_max_num_queries(11):
        by_script(client, page, f"/s/{study.slug}/task/2/")
    assert Assignment.objects.filter(state="answered").count() == 2


def test_a_researcher_who_takes_part_has_no_session_there(
    client, study, admin_user, django_assert_num_queries
):
    client.get(f"/s/{study.slug}/task/1/")  # what this person agreed to is read once
    client.force_login(admin_user)

    with django_assert_num_queries(3):
        page = client.get(f"/s/{study.slug}/task/1/")

    assert page.status_code == 200
    assert "sessionid" not in page.cookies
    del client.cookies[f"participant-{study.slug}"]
    assert "/preview/" in client.get(f"/s/{study.slug}/task/1/").content.decode()
