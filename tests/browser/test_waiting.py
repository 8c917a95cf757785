"""Waiting in tests of pages: what was replaced while somebody looked at it is looked at again."""

import pytest
from playwright.sync_api import Browser, Error

from tests.browser.conftest import axe, until

pytestmark = [pytest.mark.nightly, pytest.mark.browser]

# Leaves for the next page as soon as axe comes into it.
LEAVES = """<!doctype html><html lang="en"><title>First</title><main><h1>First</h1></main>
<script>Object.defineProperty(window, "axe", { set() { location.href = "/next"; } });</script>"""
WITHOUT_LANGUAGE = "<!doctype html><html><title>Next</title><main><h1>Next</h1></main>"


@pytest.fixture
def page(browser: Browser):
    with browser.new_context(base_url="http://pages.test") as context:
        context.route("**/first", lambda route: route.fulfill(body=LEAVES, content_type=HTML))
        context.route(
            "**/next", lambda route: route.fulfill(body=WITHOUT_LANGUAGE, content_type=HTML)
        )
        page = context.new_page()
        page.goto("/first")
        yield page


HTML = "text/html"


@pytest.mark.nightly
def test_axe_looks_at_the_page_that_took_the_place_of_another(page):
    found = axe(page)

    assert [violation["id"] for violation in found.response["violations"]] == ["html-has-lang"]


def test_a_condition_may_become_true_on_the_page_that_comes_next(page):
    with page.expect_navigation(url="**/next"):
        page.evaluate("setTimeout(() => { window.axe = 1; })")
        until(page, "document.title === 'Next'")


def test_a_fault_of_the_page_itself_is_not_hidden(page, monkeypatch):
    page.goto("/next")
    page.evaluate("document.documentElement.remove()")

    with pytest.raises(Error):
        axe(page)
