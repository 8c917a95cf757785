"""What is open in a user's name, and what ends it."""

import datetime as dt

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import default_token_generator
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from studies.models import AccessToken
from studies.services.accounts.credentials import IDLE, LONGEST, create_token, find_token

pytestmark = pytest.mark.django_db

NEW = {"new_password1": "Zq-99-other-7", "new_password2": "Zq-99-other-7"}
ASKED = {"name": "notebook", "days": "30", "scopes": ["read"]}


@pytest.fixture
def user():
    return User.objects.create_user("tina", "tina@uni.example.org", "old-pw-5521")


@pytest.fixture
def browser(user):
    return browser_of(user)


@pytest.fixture
def token(user):
    return create_token(user=user, name="thief", days=30, scopes=["read", "write"])


def browser_of(user, **more):
    client = Client(**more)
    client.force_login(user)
    return client


def is_in(client):
    return client.get("/studies/").status_code == 200


def changed(user, browser):
    assert browser.post("/accounts/password/", {"old_password": "old-pw-5521"} | NEW).url


def reset(user, browser):
    code = default_token_generator.make_token(user)
    link = f"/accounts/password/new/{urlsafe_base64_encode(force_bytes(user.pk))}/{code}/"
    anybody = Client()
    assert anybody.post(anybody.get(link).url, NEW).status_code == 302


def set_by_an_administrator(user, browser):
    root = browser_of(User.objects.create_superuser("root"))
    path = f"/admin/auth/user/{user.pk}/password/"
    sent = {"usable_password": "true", "password1": "Zq-99-other-7", "password2": "Zq-99-other-7"}
    assert root.post(path, sent).status_code == 302


def ended_by_the_owner(user, browser):
    browser.post("/accounts/end-all/")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    "act",
    [
        changed,
        reset,
        set_by_an_administrator,
        ended_by_the_owner,
    ],
)
def test_tokens_and_other_browsers_end(user, browser, token, act):
    thief = browser_of(user)
    assert is_in(thief)
    assert find_token(token)

    act(user, browser)

    assert find_token(token) is None
    assert not is_in(thief)
    assert is_in(browser) == (act in (changed, ended_by_the_owner))


def test_other_users_keep_their_sessions_and_tokens(user, browser, token):
    other = User.objects.create_user("other")
    theirs, kept = browser_of(other), create_token(user=other, name="t", days=1, scopes=["read"])

    browser.post("/accounts/end-all/")

    assert is_in(theirs)
    assert find_token(kept)


def test_a_token_asks_for_the_password_some_minutes_after_signing_in(browser, user):
    assert browser.post("/accounts/tokens/", ASKED).context["token"]
    grow_older(dt.timedelta(minutes=16))

    for password in ({}, {"password": "wrong"}):
        response = browser.post("/accounts/tokens/", ASKED | password)
        assert response.status_code == 422
        assert not response.context["token"]
    assert AccessToken.objects.count() == 1
    assert browser.post("/accounts/tokens/", ASKED | {"password": "old-pw-5521"}).context["token"]


def test_the_page_lists_the_browsers_that_are_signed_in(browser, user):
    User.objects.create_user("other", password="old-pw-5521")
    for name, address in (("tina", "203.0.113.9"), ("other", "203.0.113.10")):
        sent = {"username": name, "password": "old-pw-5521"}
        Client(REMOTE_ADDR=address).post("/accounts/login/", sent)

    page = browser.get("/accounts/tokens/")

    assert [each.is_this for each in page.context["sessions"]] == [True, False]
    assert "This browser" in page.text
    assert "203.0.113.9," in page.text
    assert "203.0.113.10" not in page.text


def test_one_browser_is_ended_and_the_password_is_asked_for_some_minutes_later(browser, user):
    one, two = browser_of(user), browser_of(user)
    named = browser.get("/accounts/tokens/").context["sessions"][-1].public_id

    assert browser.post("/accounts/end-all/", {"session": named}).status_code == 302
    assert [is_in(each) for each in (browser, one, two)].count(True) == 2

    grow_older(dt.timedelta(minutes=16))
    for password in ({}, {"password": "wrong"}):
        refused = browser.post("/accounts/end-all/", password)
        assert refused.status_code == 422
        assert "Error: " in refused.text
    assert is_in(one) or is_in(two)
    assert browser.post("/accounts/end-all/", {"password": "old-pw-5521"}).status_code == 302
    assert [is_in(each) for each in (browser, one, two)] == [True, False, False]


def test_a_session_of_somebody_else_is_not_ended(browser, user):
    other = User.objects.create_user("other", password="old-pw-5521")
    theirs = browser_of(other)
    named = theirs.get("/accounts/tokens/").context["sessions"][0].public_id

    browser.post("/accounts/end-all/", {"session": named})

    assert is_in(theirs)


@pytest.mark.parametrize("age", [IDLE, LONGEST])
def test_a_session_ends_when_it_is_idle_and_when_it_is_old(browser, age):
    grow_older(age - dt.timedelta(minutes=1), seen=age == IDLE)
    assert is_in(browser)
    grow_older(age + dt.timedelta(minutes=1), seen=age == IDLE)

    assert not is_in(browser)


@pytest.mark.parametrize(
    "password",
    [
        "Password2026!",
        "sunshine-12345",
        "my-Tina-8812xyz",
        "thirdperson-4411",
        "uni.Example.77",
        "for-annotate-99",
    ],
)
def test_a_password_holds_no_common_and_no_own_word(user, password, settings):
    settings.PUBLIC_BASE_URL = "https://annotate.example.org"

    with pytest.raises(ValidationError):
        validate_password(password, user)


@pytest.mark.parametrize("password", ["Zq-99-other-7", "correct horse battery", "Martinavale-51"])
def test_other_passwords_are_taken(password):
    validate_password(password, User(username="ina", email="ina@b.org"))


def grow_older(age, *, seen=False):
    """Make every session begin, or be used last, so long ago."""
    for row in Session.objects.all():
        data = row.get_decoded()
        data["seen" if seen else "begun"] = int((timezone.now() - age).timestamp())
        row.session_data = SessionStore().encode(data)
        row.save()
