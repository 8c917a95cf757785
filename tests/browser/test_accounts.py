"""The second step of signing in, access tokens in a real browser."""

import time

import pyotp
import pytest
from django.contrib.auth.models import User

from tests.browser.conftest import is_well_in_both_themes

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "a good long secret"


@pytest.fixture
def ada():
    return User.objects.create_superuser("ada", password=PASSWORD)


@pytest.mark.nightly
def test_the_second_step_is_switched_on_and_asked_for(ada, signed_in, open_page):
    page = signed_in()
    page.goto("/accounts/second-step/", wait_until="networkidle")
    is_well_in_both_themes(page)
    assert page.get_by_role("img", name="QR code").bounding_box()["width"] > 150
    codes = pyotp.TOTP(page.locator("ol code").inner_text())
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_label("Code that the app shows").fill(codes.at(time.time()))
    page.get_by_role("button", name="Switch on").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    is_well_in_both_themes(page)
    recovery = page.locator("section code").first.inner_text()
    page.goto("/accounts/second-step/", wait_until="networkidle")
    is_well_in_both_themes(page)

    elsewhere = open_page()
    elsewhere.goto("/accounts/login/", wait_until="networkidle")
    elsewhere.get_by_label("User name").fill("ada")
    elsewhere.get_by_label("Password").fill(PASSWORD)
    elsewhere.get_by_role("button", name="Sign in").click()
    elsewhere.get_by_role("alert").wait_for()
    assert "also needs the code" in elsewhere.get_by_role("alert").inner_text()
    is_well_in_both_themes(elsewhere)
    elsewhere.get_by_label("Password").fill(PASSWORD)
    elsewhere.get_by_label("Code from your app").fill(recovery)
    elsewhere.get_by_role("button", name="Sign in").click()
    elsewhere.wait_for_url("**/studies/")


def test_tokens_are_well(ada, signed_in):
    page = signed_in()
    page.goto("/accounts/tokens/", wait_until="networkidle")
    is_well_in_both_themes(page)
