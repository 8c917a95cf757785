"""The second step of signing in: a code of an app, once, and recovery codes, each once."""

import re
import time

import pyotp
import pytest
from django.contrib.auth.hashers import identify_hasher
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from studies.models import SecondStep, SignIn
from studies.services.accounts import second_steps
from studies.services.accounts.credentials import create_token, find_token

pytestmark = pytest.mark.django_db

PAGE, SIGN_IN = "/accounts/second-step/", "/accounts/login/"
# A date on which half minutes begin, from RFC 6238.
NOW = 1_111_111_110


@pytest.fixture
def researcher():
    return User.objects.create_user("ada", "ada@example.org", "right", is_staff=True)


@pytest.fixture
def clock(monkeypatch):
    now = [NOW]
    monkeypatch.setattr(second_steps.time, "time", lambda: now[0])
    return now


@pytest.fixture
def browser(researcher):
    client = Client()
    client.force_login(researcher)
    return client


def switch_on(user):
    secret = second_steps.new_secret()
    code = pyotp.TOTP(secret).at(second_steps.time.time())
    return secret, second_steps.switch_on(user=user, secret=secret, code=code)


def sign_in(code="", *, password="right", path=SIGN_IN):
    return Client().post(path, {"username": "ada", "password": password, "code": code}, follow=True)


def is_signed_in(response):
    return response.wsgi_request.user.is_authenticated


def test_the_codes_are_those_of_the_standard(researcher, clock):
    # RFC 6238, appendix B: SHA-1 at 1111111109 seconds, the last six of its eight digits.
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    clock[0] = 1_111_111_109

    assert len(second_steps.switch_on(user=researcher, secret=secret, code="081 804")) == 8


def test_it_is_switched_on_on_its_page_with_password_and_code(browser, researcher):
    page = browser.get(PAGE).content.decode()
    sent = re.search(r'name="secret" value="([^"]+)"', page)[1]
    secret = re.search(r"<code>(\w+)</code>", page)[1]
    assert "<svg" in page
    assert "no-store" in browser.get(PAGE).headers["Cache-Control"]
    code = pyotp.TOTP(secret).at(time.time())

    refused = browser.post(PAGE, {"secret": sent, "password": "wrong", "code": code})
    assert refused.status_code == 422
    assert "not your password" in refused.content.decode()
    assert secret in refused.content.decode()
    old = browser.post(PAGE, {"secret": sent, "password": "right", "code": "000000"})
    assert old.status_code == 422
    assert "not the app’s current code" in old.content.decode()
    assert not SecondStep.objects.exists()

    done = browser.post(PAGE, {"secret": sent, "password": "right", "code": code})
    recovery = re.findall(r"<code>(\w{5}-\w{5})</code>", done.content.decode())
    assert len(set(recovery)) == 8
    stored = str(SecondStep.objects.values().get())
    assert secret not in stored
    assert recovery[0].replace("-", "") not in stored
    assert recovery[0] not in browser.get(PAGE).content.decode()


def test_the_secret_of_another_user_is_not_taken(browser):
    other = User.objects.create_user("eve", password="x")
    secret = second_steps.new_secret()
    sent = second_steps.signed(user=other, secret=secret)
    code = pyotp.TOTP(secret).now()

    browser.post(PAGE, {"secret": sent, "password": "right", "code": code})

    assert not SecondStep.objects.exists()


def test_nobody_signs_in_without_the_code(researcher, clock):
    secret, _ = switch_on(researcher)
    clock[0] += 60
    code = pyotp.TOTP(secret).at(clock[0])

    assert not is_signed_in(sign_in())
    assert not is_signed_in(sign_in("123456"))
    assert not is_signed_in(sign_in(code, password="wrong"))
    assert SignIn.objects.filter(outcome=SignIn.Outcome.FAILED).count() == 3
    assert is_signed_in(sign_in(code))


def test_a_code_works_once_and_an_old_one_never(researcher, clock):
    secret, _ = switch_on(researcher)
    clock[0] += 60
    code, early = (pyotp.TOTP(secret).at(clock[0] + late) for late in (0, -30))

    assert is_signed_in(sign_in(f"{code[:3]} {code[3:]}"))
    assert not is_signed_in(sign_in(code))
    assert not is_signed_in(sign_in(early))


def test_clocks_may_differ_by_half_a_minute(researcher, clock):
    secret, _ = switch_on(researcher)
    clock[0] += 120
    codes = {late: pyotp.TOTP(secret).at(clock[0] + late) for late in (-60, -30, 60)}

    assert not is_signed_in(sign_in(codes[-60]))
    assert not is_signed_in(sign_in(codes[60]))
    assert is_signed_in(sign_in(codes[-30]))


def test_a_recovery_code_works_once(researcher):
    _, recovery = switch_on(researcher)

    assert is_signed_in(sign_in(recovery[3].upper()))
    assert not is_signed_in(sign_in(recovery[3]))
    assert is_signed_in(sign_in(recovery[4].replace("-", " ")))


def test_guesses_of_the_code_are_limited_like_those_of_a_password(researcher, clock):
    secret, _ = switch_on(researcher)
    clock[0] += 60
    for _ in range(5):
        sign_in("123456")

    refused = sign_in(pyotp.TOTP(secret).at(clock[0]))

    assert refused.status_code == 429
    assert not is_signed_in(refused)


def test_knowing_the_password_does_not_reset_the_count_of_guessed_codes(browser, researcher, clock):
    secret, _ = switch_on(researcher)
    browser.force_login(researcher)
    for _ in range(4):
        sign_in("123456")
    new = {"old_password": "right", "new_password1": "a", "new_password2": "b"}
    browser.post("/accounts/password/", new)
    sign_in("123456")
    clock[0] += 60

    assert sign_in(pyotp.TOTP(secret).at(clock[0])).status_code == 429


def test_recovery_codes_are_stored_as_slow_hashes_with_a_salt(researcher):
    _, recovery = switch_on(researcher)

    stored = SecondStep.objects.get().recovery_sha256
    assert all(identify_hasher(each) for each in stored)
    assert len({each.split("$")[-2] for each in stored}) == len(recovery)


def test_switching_the_second_step_on_ends_earlier_sessions(browser, researcher):
    thief = Client()
    thief.force_login(researcher)
    token = create_token(user=researcher, name="t", days=30, scopes=["read"])
    page = browser.get(PAGE)
    code = pyotp.TOTP(page.context["secret"]).now()

    browser.post(PAGE, {"secret": page.context["signed"], "password": "right", "code": code})

    assert browser.get("/studies/").status_code == 200
    assert thief.get("/studies/").status_code == 302
    assert find_token(token) is None


def test_the_admin_has_no_separate_sign_in(researcher):
    switch_on(researcher)

    assert not is_signed_in(sign_in(path="/admin/login/"))
    assert Client().get("/admin/login/?next=/admin/").url == "/accounts/login/?next=/admin/"


def test_it_is_switched_off_with_a_code(browser, researcher):
    _, recovery = switch_on(researcher)
    browser.force_login(researcher)

    assert browser.post(PAGE, {"action": "off", "code": "000000"}).status_code == 422
    assert SecondStep.objects.exists()
    assert browser.post(PAGE, {"action": "off", "code": recovery[0]}).url == PAGE
    assert not SecondStep.objects.exists()
    assert is_signed_in(sign_in())


def test_a_changed_secret_key_is_reported(researcher, settings):
    switch_on(researcher)
    settings.SECRET_KEY = "another"

    assert "Ask its administrator to remove it" in sign_in("123456").content.decode()


def test_an_administrator_removes_it_for_somebody_who_lost_the_phone(researcher, capsys):
    switch_on(researcher)

    call_command("account", "--remove-second-step", "ada")

    assert "“ada” can sign in with the password alone" in capsys.readouterr().out
    assert is_signed_in(sign_in())
    with pytest.raises(CommandError, match="has no second step"):
        call_command("account", "--remove-second-step", "ada")
    with pytest.raises(CommandError, match="no user “eve”"):
        call_command("account", "--remove-second-step", "eve")
