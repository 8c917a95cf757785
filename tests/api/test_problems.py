"""Errors: each is problem details, whatever refused the request."""

import json
import re

import pytest
from django.db import OperationalError, connection
from django.test import Client

from tests.api.conftest import program
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db


def check(response, status, code):
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert (body["type"], body["status"], body["code"]) == ("about:blank", status, code)
    assert all([body["title"], body["detail"]])
    return body


def test_an_unknown_address(owner):
    check(owner.get("nothing"), 404, "not_found")
    check(Client().get("/api/v2/studies"), 404, "not_found")


def test_a_method_that_a_route_lacks(owner):
    response = owner("DELETE", "studies/s")

    check(response, 405, "method_not_allowed")
    assert "GET" in response["Allow"]
    assert owner("TRACE", "studies/s")["Content-Type"] == "application/problem+json"


def test_a_body_that_is_not_json(owner):
    sent = {"Authorization": f"Bearer {owner.token}"}
    url = "/api/v1/studies/s"

    def patch(data, kind="application/json"):
        return owner.client.patch(url, data, content_type=kind, headers=sent)

    detail = check(patch("{"), 400, "bad_request")["detail"]
    assert detail.startswith("The body is not JSON: Expecting property name")
    check(patch('{"equivalence_margin": NaN}'), 400, "bad_request")
    check(patch('{"title": "a\\u0000b"}'), 400, "bad_request")
    for data in ("[" * 100_000, '{"minutes": ' + "9" * 5_000 + "}", b'{"title": "\xff"}'):
        detail = check(patch(data), 400, "bad_request")["detail"]
        assert not re.search("recursion|set_int_max_str_digits|codec", detail), detail
    detail = check(patch('{"minutes": 20, "minutes": 200}'), 400, "bad_request")["detail"]
    assert detail == "The body is not JSON: the key “minutes” appears twice."
    check(patch("title=x", "application/x-www-form-urlencoded"), 415, "unsupported_media_type")
    check(patch(b"\xff", "application/json; charset=latin-1"), 400, "bad_request")


def test_each_value_at_fault_is_named(owner):
    body = check(
        owner.patch("studies/s", {"minutes": 0, "titel": "x", "task": None}), 422, "invalid"
    )

    assert {each["field"] for each in body["errors"]} == {"minutes", "titel", "task"}


def test_values_that_the_pages_form_refuses(owner):
    body = check(owner.patch("studies/s", {"contact": "nobody"}), 422, "invalid")

    assert [each["field"] for each in body["errors"]] == ["contact"]


def test_a_body_that_is_too_large(owner, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000

    check(owner.patch("studies/s", {"consent": "x" * 2_000}), 413, "too_large")


def test_an_account_that_may_not_create_studies(owner):
    check(owner.post("studies", {"title": "Mine"}), 403, "forbidden")


def test_a_name_that_is_taken():
    make_study(slug="taken")
    root = program(is_superuser=True)

    body = check(root.post("studies", {"title": "x", "slug": "taken"}), 422, "invalid")
    assert "taken" in body["detail"]


def test_settings_that_answers_depend_on(study, owner):
    study.frozen_at = study.created_at
    study.save()

    body = check(owner.patch("studies/s", {"allow_tie": True}), 409, "conflict")
    assert "allow_tie" in body["detail"]
    assert owner.patch("studies/s", {"allow_tie": False, "minutes": 7}).status_code == 200


def test_settings_that_somebody_else_has_changed(owner):
    version = owner.get("studies/s").json()["version"]

    assert owner.patch("studies/s", {"minutes": 7, "version": version}).status_code == 200
    check(owner.patch("studies/s", {"minutes": 8, "version": version}), 409, "conflict")


def test_an_error_of_the_program(owner, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("a secret")

    monkeypatch.setattr("api.v1.routes.studies.study_of", fail)

    body = check(owner.get("studies/s"), 500, "server_error")
    assert "secret" not in json.dumps(body)


def test_a_cursor_of_another_list(study, owner):
    make_item(study=study, key="a")
    make_item(study=study, key="b")
    cursor = owner.get("studies/s/items?limit=1").json()["next"]

    check(owner.get(f"studies?cursor={cursor}"), 422, "invalid")
    check(owner.get("studies/s/items?cursor=x"), 422, "invalid")
    check(owner.get("studies/s/items?limit=501"), 422, "invalid")


def test_a_parameter_that_is_not_described_is_refused_by_name(owner):
    body = check(owner.get("studies?statee=draft&cursor="), 422, "invalid")

    assert [each["field"] for each in body["errors"]] == ["statee"]
    assert "Use: " in body["detail"]
    assert "takes none" in check(owner.get("studies/s?x=1"), 422, "invalid")["detail"]


def test_a_database_that_is_away_is_a_problem_with_a_time_to_wait(owner):
    def fail(*_args):
        raise OperationalError("no database")

    with connection.execute_wrapper(fail):
        found = owner.get("studies")

    check(found, 503, "unavailable")
    assert found["Retry-After"] == "5"
