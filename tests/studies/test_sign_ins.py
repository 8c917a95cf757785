"""Guessing passwords: how often, from where, and that nobody is locked out by somebody else."""

import datetime as dt
import logging
from contextlib import suppress

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from studies.errors import TooManyAttempts
from studies.models import SignIn
from studies.services.accounts import sign_ins

pytestmark = pytest.mark.django_db

HERE, THERE = "198.51.100.7", "203.0.113.9"


@pytest.fixture
def researcher():
    return User.objects.create_user("ada", "ada@example.org", "right", is_staff=True)


def attempt(password, *, name="ada", address=HERE):
    data = {"username": name, "password": password}
    return Client(REMOTE_ADDR=address).post("/accounts/login/", data)


def is_signed_in(response):
    return response.status_code == 302


@pytest.mark.parametrize("name", ["ada", "nobody"])
def test_the_sixth_attempt_waits_even_with_the_right_password(researcher, name):
    for _ in range(5):
        assert attempt("wrong", name=name).status_code == 200

    response = attempt("right", name=name)

    assert not is_signed_in(response)
    assert "Wait 15 minutes, then try again." in response.content.decode()
    assert response.status_code == 429
    assert 800 < int(response.headers["Retry-After"]) <= 900
    assert SignIn.objects.count() == 5


def test_waiting_ends_however_often_somebody_tries_meanwhile(researcher):
    for _ in range(5):
        attempt("wrong")
    for _ in range(20):
        attempt("wrong")
    age(minutes=16)

    assert is_signed_in(attempt("right"))


def test_nobody_can_lock_a_researcher_out_from_another_address(researcher):
    assert is_signed_in(attempt("right", address=THERE))
    for number in range(150):
        guess(f"192.0.2.{number}")
    for _ in range(5):
        attempt("wrong", address=HERE)

    assert attempt("right", address=HERE).status_code == 429
    assert is_signed_in(attempt("right", address=THERE))


def test_an_account_is_not_guessed_from_many_addresses(researcher):
    for number in range(100):
        guess(f"192.0.2.{number}")

    assert attempt("right").status_code == 429


def test_many_accounts_are_not_guessed_from_one_address(researcher):
    for number in range(50):
        guess(HERE, name=f"somebody-{number}")

    assert attempt("right").status_code == 429
    assert is_signed_in(attempt("right", address=THERE))


def test_a_success_ends_the_count_of_its_account_and_address(researcher):
    for _ in range(3):
        for _ in range(4):
            attempt("wrong")
        assert is_signed_in(attempt("right"))


def test_spellings_of_a_name_count_as_one_account(researcher):
    for name in ("ada", "ADA", " ada", "Ada", "aDa "):
        attempt("wrong", name=name)

    assert attempt("right").status_code == 429


def test_attempts_are_logged_without_what_was_typed(researcher, caplog):
    with caplog.at_level(logging.WARNING, logger="studies.sign_ins"):
        attempt("secret-1", name="typed-by-mistake")
        for _ in range(6):
            attempt("secret-2")

    said = caplog.text
    assert f"sign-in failed: account {researcher.pk}, address {HERE}" in said
    assert "sign-in refused, too many attempts" in said
    assert "secret" not in said
    assert "typed-by-mistake" not in said
    assert "typed-by-mistake" not in str(SignIn.objects.values())


def test_a_forwarded_address_counts_only_when_the_installation_says_so(researcher, settings):
    for number in range(6):
        response = Client(REMOTE_ADDR=HERE).post(
            "/accounts/login/",
            {"username": "ada", "password": "wrong"},
            headers={"X-Forwarded-For": f"192.0.2.{number}"},
        )
    assert response.status_code == 429

    settings.TRUSTED_PROXIES = 1
    response = Client(REMOTE_ADDR=HERE).post(
        "/accounts/login/",
        {"username": "ada", "password": "right"},
        # The first is what the client wrote itself, the last what the proxy added.
        headers={"X-Forwarded-For": f"{HERE}, {THERE}"},
    )
    assert is_signed_in(response)
    assert SignIn.objects.get(outcome="succeeded").address == THERE


@pytest.mark.parametrize(
    ("connection", "counted"),
    [
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", "unknown"),
    ],
)
def test_addresses_are_counted_by_network(rf, connection, counted):
    from studies.pages.signed_in import client_address

    assert client_address(rf.get("/", REMOTE_ADDR=connection)) == counted


def test_the_current_password_cannot_be_guessed_in_an_open_browser(researcher):
    client = Client(REMOTE_ADDR=HERE)
    client.force_login(researcher)
    new = {"new_password1": "Tr0ub4dor&3x", "new_password2": "Tr0ub4dor&3x"}
    for _ in range(5):
        client.post("/accounts/password/", {"old_password": "wrong", **new})

    response = client.post("/accounts/password/", {"old_password": "right", **new})

    researcher.refresh_from_db()
    assert "Too many failed attempts" in response.content.decode()
    assert researcher.check_password("right")
    assert client.get("/admin/password_change/").headers["Location"] == "/accounts/password/"


def test_a_changed_password_signs_other_browsers_out(researcher):
    here, elsewhere = Client(), Client()
    here.force_login(researcher)
    elsewhere.force_login(researcher)

    here.post(
        "/accounts/password/",
        {
            "old_password": "right",
            "new_password1": "Tr0ub4dor&3x",
            "new_password2": "Tr0ub4dor&3x",
        },
    )

    assert here.get("/studies/").status_code == 200
    assert elsewhere.get("/studies/").status_code == 302


def test_without_e_mail_the_page_says_whom_to_ask(client):
    page = client.get("/accounts/password/reset/").content.decode()

    assert "Ask its administrator, who can set a new password" in page
    assert "<form" not in page.split("<main")[1]


def test_a_link_by_e_mail_sets_a_new_password(client, researcher, settings, monkeypatch):
    settings.EMAIL_HOST = "mail.example.org"
    settings.PUBLIC_BASE_URL = "https://judge.example.org"
    send_at_once(monkeypatch)

    page = client.post(
        "/accounts/password/reset/", {"email": "Ada@example.org"}, HTTP_HOST="localhost"
    )
    link = next(line for line in mail.outbox[0].body.splitlines() if "/new/" in line)
    assert link.startswith("https://judge.example.org/accounts/password/new/")
    form = client.get(link.removeprefix("https://judge.example.org"), follow=True)
    client.post(
        form.request["PATH_INFO"],
        {"new_password1": "Tr0ub4dor&3x", "new_password2": "Tr0ub4dor&3x"},
    )

    researcher.refresh_from_db()
    assert "If an account has this e-mail address" in page.content.decode()
    assert researcher.check_password("Tr0ub4dor&3x")


def test_nobodys_mailbox_is_flooded(client, researcher, settings, monkeypatch):
    settings.EMAIL_HOST = "mail.example.org"
    send_at_once(monkeypatch)

    pages = [
        client.post("/accounts/password/reset/", {"email": email}).content.decode()
        for email in [*["ada@example.org"] * 5, "nobody@example.org"]
    ]

    assert len(mail.outbox) == 3
    assert all("If an account has this e-mail address" in page for page in pages)


def guess(address, name="ada"):
    """A failed attempt, without the page."""
    with suppress(TooManyAttempts):
        sign_ins.begin(name=name, address=address)


def age(**by):
    for row in SignIn.objects.all():
        SignIn.objects.filter(pk=row.pk).update(created_at=timezone.now() - dt.timedelta(**by))


def send_at_once(monkeypatch):
    monkeypatch.setattr(
        "studies.pages.accounts.password_reset.queue",
        lambda task, email: task.apply((email,), throw=True),
    )
