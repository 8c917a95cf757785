"""A link to a report, made by its owner and opened by a reader, in Chromium."""

import re

import pytest
from django.urls import reverse

from tests.browser.conftest import PHONE, is_well_in_both_themes
from tests.browser.test_versions import build, study

__all__ = ["study"]
pytestmark = [
    pytest.mark.sampled(keep=1, group="report readers in links in browsers"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.mark.nightly
def test_a_link_is_made_opened_and_ended(study, signed_in, open_page):
    page = signed_in(viewport=PHONE)
    page.goto(reverse("share_links:links", args=[study.slug, build(study).public_id]))
    page.get_by_label("Recipient").fill("the journal")
    page.get_by_role("button", name="Create share link").press("Enter")
    address = page.get_by_label("Link to the report").input_value()
    is_well_in_both_themes(page)
    path = address[address.index("/shared/") :]

    outside = open_page(viewport=PHONE)
    outside.goto(path)
    is_well_in_both_themes(outside)
    with outside.expect_request("**/report.html*") as asked:
        outside.get_by_role("link", name="Open report").press("Enter")
    outside.get_by_role("heading", name=re.compile(r"^\d+ Methods$")).wait_for()
    page.get_by_role("button", name="Revoke link for the journal").press("Enter")
    page.get_by_text("Share link revoked.").wait_for()

    assert "referer" not in asked.value.headers
    assert outside.goto(path).status == 404
