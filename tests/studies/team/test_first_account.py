"""The first account of a site: made on a page, with the code from the terminal."""

import re
from datetime import timedelta
from threading import Thread

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from studies.statements import clock

pytestmark = pytest.mark.django_db
_PASSWORD = "four unrelated plain words"


def _send(client, code, name="ada", **more):
    fields = {"code": code, "username": name, "password1": _PASSWORD, "password2": _PASSWORD}
    return client.post(reverse("first-account"), {**fields, **more})


def _printed(capsys) -> str:
    call_command("account")
    found = re.search(r"code: (\S+)", capsys.readouterr().out)
    return found[1] if found else ""


def test_opening_the_page_shows_the_code_in_the_terminal_again(client, capsys):
    """The log of a server that runs for a while has moved the first line out of sight."""
    cache.clear()
    code = _printed(capsys)

    for _ in range(2):
        client.get(reverse("first-account"))

    shown = capsys.readouterr().err
    assert shown.count(f"code: {code}") == 1  # not more than once a minute
    assert _send(client, code).url == reverse("studies:list")


def test_the_first_visitor_makes_the_administrator_with_the_code_of_the_terminal(client, capsys):
    page = client.get(reverse("studies:list"), follow=True)
    assert "Create the first account" in page.content.decode()
    code = _printed(capsys)

    response = _send(client, code.lower().replace("-", " "))

    ada = User.objects.get()
    assert response.url == reverse("studies:list")
    assert ada.is_superuser
    assert ada.is_staff
    assert client.get(reverse("studies:list")).status_code == 200
    # It worked once: the next visitor gets the page to sign in, and nothing is printed.
    other = Client()
    assert _send(other, code, name="eve").url == reverse("login")
    assert "Sign in" in other.get(reverse("login")).content.decode()
    assert _printed(capsys) == ""
    assert User.objects.count() == 1


def test_a_wrong_or_expired_code_makes_no_account_and_guesses_are_limited(
    client, capsys, monkeypatch
):
    code, now = _printed(capsys), clock.now()
    assert _send(client, "AAAA-AAAA-AAAA").status_code == 422
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(hours=2))
    assert _send(client, code).status_code == 422
    monkeypatch.setattr(clock, "now", lambda: now)
    for _ in range(4):
        _send(client, "AAAA-AAAA-AAAA")

    page = _send(client, code)

    assert "Too many failed attempts" in page.content.decode()
    assert not User.objects.exists()


def test_what_was_typed_is_kept_when_a_field_is_refused(client, capsys):
    code = _printed(capsys)

    page = _send(client, code, password2="something else").content.decode()

    assert f'value="{code}"' in page
    assert _PASSWORD not in page
    assert _send(client, code).status_code == 302


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_visitors_at_once_make_one_account(capsys):
    code = _printed(capsys)

    def send(name):
        try:
            _send(Client(), code, name=name)
        finally:
            connection.close()

    threads = [Thread(target=send, args=[f"user{n}"]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert User.objects.count() == 1
