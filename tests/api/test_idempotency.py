"""A POST with an idempotency key is carried out once."""

import datetime as dt

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from analysis.models import Report
from api.models import IdempotentRequest
from api.tasks import tidy_requests
from studies.models import AccessToken, ImportJob, Study
from tests.api.conftest import program

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(db):
    return program(is_superuser=True)


def test_the_same_request_again_gets_the_same_response(root):
    sent = {"title": "Once"}

    first = root.post("studies", sent, Idempotency_Key="a")
    again = root.post("studies", sent, Idempotency_Key="a")

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert "Idempotency-Replayed" not in first.headers
    assert again["Idempotency-Replayed"] == "true"
    assert Study.objects.count() == 1
    assert root.post("studies", sent).status_code == 422  # the name is taken


def test_another_request_with_the_key_is_refused(root):
    root.post("studies", {"title": "Once"}, Idempotency_Key="a")

    other = root.post("studies", {"title": "Twice"}, Idempotency_Key="a")

    assert other.status_code == 422
    assert other.json()["code"] == "idempotency_key_reused"
    assert Study.objects.count() == 1


def test_users_have_separate_keys(root):
    other = program(is_superuser=True)
    root.post("studies", {"title": "One"}, Idempotency_Key="a")

    assert other.post("studies", {"title": "Two"}, Idempotency_Key="a").status_code == 201


def test_a_refused_request_does_not_use_its_key(root):
    assert root.post("studies", {"title": ""}, Idempotency_Key="a").status_code == 422
    assert root.post("studies", {"title": "Once"}, Idempotency_Key="a").status_code == 201


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 201])
def test_an_invalid_key(root, key):
    assert root.post("studies", {"title": "x"}, Idempotency_Key=key).status_code == 400


def test_a_failed_request_leaves_neither_changes_nor_key(root, study, monkeypatch):
    def fail(*args):
        raise RuntimeError

    monkeypatch.setattr("api.v1.routes.reports._shown_report", fail)

    assert root.post("studies/s/reports", {}, Idempotency_Key="a").status_code == 500
    assert not Report.objects.exists()
    assert not IdempotentRequest.objects.exists()


def test_files_are_imported_once(owner):
    def send(text):
        file = SimpleUploadedFile("items.jsonl", text)
        sent = {"Authorization": f"Bearer {owner.token}", "Idempotency-Key": "a"}
        return owner.client.post("/api/v1/studies/s/imports", {"file": file}, headers=sent)

    first, again, other = send(b"{}"), send(b"{}"), send(b"{ }")

    assert (first.status_code, again.status_code, other.status_code) == (202, 202, 422)
    assert again.json()["id"] == first.json()["id"]
    assert ImportJob.objects.count() == 1


def test_keys_are_forgotten_after_a_day(root):
    root.post("studies", {"title": "Once"}, Idempotency_Key="a")
    old = timezone.now() - dt.timedelta(days=1, seconds=1)
    IdempotentRequest.objects.update(created_at=old)

    tidy_requests()

    assert not IdempotentRequest.objects.exists()


def test_a_response_is_not_repeated_to_a_removed_member(study):
    editor = program(study, "editor")
    other = program(study, "editor")
    for each in (editor, other):
        assert each.post("studies/s/reports", {}, Idempotency_Key="a").status_code == 202

    study.memberships.filter(user=editor.user).delete()
    study.memberships.filter(user=other.user).update(role="viewer")

    for each in (editor, other):
        assert each.post("studies/s/reports", {}, Idempotency_Key="a").status_code == 404


def test_a_response_is_not_repeated_to_a_token_without_the_scope(root):
    root.post("studies", {"title": "Once"}, Idempotency_Key="a")
    AccessToken.objects.update(scopes=["read"])

    again = root.post("studies", {"title": "Once"}, Idempotency_Key="a")

    assert (again.status_code, again.json()["code"]) == (403, "insufficient_scope")
