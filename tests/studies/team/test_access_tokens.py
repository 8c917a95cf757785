"""Access tokens on pages: a program reads what its user reads, and changes nothing."""

import datetime as dt

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from studies.models import AccessToken, Membership
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def user(client):
    user = User.objects.create_user("reader")
    client.force_login(user)
    Membership.objects.create(study=make_study(slug="s"), user=user, role="owner")
    make_study(slug="foreign")
    return user


@pytest.fixture
def token(client, user):
    sent = {"name": "notebook", "days": "30", "scopes": ["read"]}
    return client.post("/accounts/tokens/", sent).context["token"]


def read(token, address="/studies/s/", scheme="Bearer"):
    return Client().get(address, headers={"Authorization": f"{scheme} {token}"}).status_code


def test_a_token_reads_what_its_user_reads(token):
    assert read(token) == 200
    assert read(token, "/studies/foreign/") == 404
    assert AccessToken.objects.get().used_at is not None


def test_only_a_hash_is_stored_and_the_token_is_shown_once(client, token):
    assert token not in str(AccessToken.objects.values().get())
    assert token not in client.get("/accounts/tokens/").content.decode()


def test_a_token_changes_nothing(token):
    response = Client(enforce_csrf_checks=True).post(
        "/studies/s/",
        {"action": "state", "state": "open"},
        headers={"Authorization": f"Bearer {token}"},
    )

    assert response.status_code == 403


@pytest.mark.parametrize("end", ["expired", "deleted", "closed account", "wrong", "wrong scheme"])
def test_an_invalid_token_leads_to_the_sign_in(client, user, token, end):
    if end == "expired":
        AccessToken.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    elif end == "deleted":
        client.post(
            "/accounts/tokens/", {"action": "delete", "token": AccessToken.objects.get().public_id}
        )
    elif end == "closed account":
        User.objects.update(is_active=False)

    sent = token + "x" if end == "wrong" else token
    assert read(sent, scheme="Basic" if end == "wrong scheme" else "Bearer") == 302


def test_a_bad_token_does_not_fall_back_to_the_session(client, user):
    response = client.get("/studies/s/", headers={"Authorization": "Bearer thirdperson_x"})

    assert response.status_code == 302


def test_nobody_deletes_tokens_of_others(token):
    stranger = Client()
    stranger.force_login(User.objects.create_user("stranger"))

    stranger.post(
        "/accounts/tokens/", {"action": "delete", "token": AccessToken.objects.get().public_id}
    )

    assert AccessToken.objects.count() == 1


def test_requests_for_pages_count_as_those_to_the_api(token, settings):
    settings.API_REQUESTS_PER_MINUTE = 2

    assert [read(token) for _ in range(3)] == [200, 200, 429]
