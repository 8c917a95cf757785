"""The pages of webhooks in a real browser."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from extras.webhooks.models import Event
from extras.webhooks.webhooks import add_webhook
from tests.browser.conftest import is_well_in_both_themes
from tests.factories import make_study, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_pages_are_well(signed_in):
    ada = User.objects.create_superuser("ada", password="a good long secret")
    study = make_study(slug="hooks", title="Told by address")
    webhook, _ = add_webhook(
        study_id=study.pk,
        url="https://example.org/hook",
        events=Event.values,
        user=ada,
    )
    page = signed_in()
    for path in ("", f"{webhook.public_id}/"):
        page.goto(f"/studies/hooks/webhooks/{path}", wait_until="networkidle")
        is_well_in_both_themes(page)


def test_an_address_that_only_takes_forms_stays_out_of_the_history(signed_in):
    sign_in(make_study(slug="s", state="draft"), role="owner")
    page = signed_in()
    page.goto("/studies/s/webhooks/")
    page.get_by_label("Address").fill("https://lab.example.org/")
    page.get_by_role("button", name="Add webhook").click()
    expect(page.locator(".error-summary")).to_be_visible()
    page.get_by_label("Address").fill("https://lab.example.org/new")
    page.reload()

    expect(page.locator(".error-summary")).to_be_visible()
    expect(page.get_by_label("Address")).to_have_value("https://lab.example.org/new")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Add webhook").click()
    page.get_by_text("Secret of the new webhook").wait_for()
    page.goto("/studies/s/")
    page.go_back()

    expect(page.get_by_label("Address")).to_be_visible()
    expect(page.get_by_text("Secret of the new webhook")).to_have_count(0)
