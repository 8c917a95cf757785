"""Who a request is from: a token with scopes, and nothing else."""

import datetime as dt

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from analysis.models import Export
from studies.models import AccessToken, Membership
from tests.api.conftest import Program, program
from tests.factories import make_study, sign_in

pytestmark = pytest.mark.django_db


def test_a_token_reads_what_its_user_reads(owner):
    make_study(slug="foreign")

    assert owner.get("studies/s").json()["role"] == "owner"
    assert [row["slug"] for row in owner.get("studies").json()["data"]] == ["s"]
    assert owner.get("studies/foreign").status_code == 404


@pytest.mark.parametrize("sent", ["", "Bearer", "Bearer x", "Bearer thirdperson_x", "Basic YTpi"])
def test_without_a_valid_token_there_is_nothing(study, sent):
    response = Client().get("/api/v1/studies/s", headers={"Authorization": sent} if sent else {})

    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert response["Content-Type"] == "application/problem+json"


def test_a_session_does_not_replace_a_token(study):
    browser = sign_in(study, "owner")

    assert browser.get("/studies/s/").status_code == 200
    assert browser.get("/api/v1/studies/s").status_code == 401
    assert "sessionid" not in browser.get("/api/v1/studies/s").cookies


@pytest.mark.parametrize("end", ["expired", "deleted", "closed account"])
def test_a_token_that_has_ended_is_refused(owner, end):
    if end == "expired":
        AccessToken.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    elif end == "deleted":
        AccessToken.objects.all().delete()
    else:
        User.objects.update(is_active=False)

    assert owner.get("studies/s").status_code == 401


def test_a_token_does_no_more_than_its_scopes_allow(study):
    user = User.objects.create_user("owner")
    Membership.objects.create(user=user, study=study, role="owner")
    reader, writer = Program(user, ["read"]), Program(user, ["write"])

    refused = reader.patch("studies/s", {"title": "New"})
    assert refused.status_code == 403
    assert refused.json()["code"] == "insufficient_scope"
    assert "write" in refused.json()["detail"]
    assert writer.get("studies/s").status_code == 403
    assert writer.patch("studies/s", {"title": "New"}).status_code == 200


def test_a_token_reads_pages_only_with_the_scope_to_read(study, tmp_path):
    export = Export.objects.create(study=study, what="all", format="jsonl")

    def status(path, *scopes):
        sent = {"Authorization": f"Bearer {program(study, 'owner', scopes).token}"}
        return Client().get(f"/studies/s/{path}", headers=sent).status_code

    assert status("", "read") == 200
    assert status("", "write", "export") == 302
    assert status(f"exports/{export.public_id}/download/", "read") == 403
    assert status(f"exports/{export.public_id}/download/", "read", "export") == 404  # no file


def test_requests_of_a_token_are_limited(owner, settings):
    settings.API_REQUESTS_PER_MINUTE = 3

    answers = [owner.get("studies/s") for _ in range(4)]

    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert 1 <= int(answers[3]["Retry-After"]) <= 60
    assert answers[3].json()["code"] == "rate_limited"
    assert (
        program(AccessToken.objects.get().user.memberships.get().study, "viewer")
        .get("studies/s")
        .status_code
        == 200
    )
    AccessToken.objects.update(window_started_at=timezone.now() - dt.timedelta(minutes=2))
    assert owner.get("studies/s").status_code == 200


def test_the_limit_can_be_lifted(owner, settings):
    settings.API_REQUESTS_PER_MINUTE = 0

    owner.get("studies/s")

    assert AccessToken.objects.get().window_requests == 0


def test_the_page_of_tokens_gives_the_chosen_scopes(client):
    client.force_login(User.objects.create_user("ada"))

    page = client.get("/accounts/tokens/").content.decode()
    assert 'value="read" id="id_scopes_0" checked' in " ".join(page.split())
    sent = {"name": "notebook", "days": "30", "scopes": ["spend", "read"]}
    shown = client.post("/accounts/tokens/", sent).content.decode()

    assert AccessToken.objects.get().scopes == ["read", "spend"]
    assert "may read, spend" in shown
    assert client.post("/accounts/tokens/", {"name": "n", "days": "30"}).status_code == 422
