"""The participants' way to the code in browsers of docs/browsers.md: `make test-browsers`."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import pytest

from annotation.models import Annotation, Annotator
from tests.annotation.pages.walking import entry_url
from tests.browser.annotators import add_quota, make_everyday_study
from tests.browser.real import OLD_CHROMIUMS, Driven, NotHere, chromium, firefox, webkit

pytestmark = [pytest.mark.real_browsers, pytest.mark.django_db(transaction=True)]

Opens = Callable[..., AbstractContextManager[Driven]]
OLD: dict[str, Opens] = {f"Chromium {name}": partial(chromium, name) for name in OLD_CHROMIUMS}
BROWSERS: dict[str, Opens] = {**OLD, "Firefox": firefox, "WebKitGTK": webkit}


@pytest.fixture
def opened():
    """Open a browser until the end of the test; without it, the test says how to get it."""
    left = []

    def opened(name: str, **options: bool) -> Driven:
        browser = BROWSERS[name](**options)
        try:
            driven = browser.__enter__()
        except NotHere as error:
            pytest.skip(str(error))
        left.append(browser)
        return driven

    yield opened
    for browser in left:
        browser.__exit__(None, None, None)


def press(selector: str) -> str:
    return f"document.querySelector('{selector}').click(); return true"


def enter_certainty(number: int) -> str:
    return (
        f"const box = document.getElementById('certainty'); box.value = '{number}';"
        "box.dispatchEvent(new Event('input', { bubbles: true })); return true"
    )


def walk(page: Driven, address: str, *, scripts: bool) -> None:
    """From the link to the code; with scripts their parts are looked at on the way."""
    page.go(address)
    page.until("document.querySelector('#consent-yes') !== null")
    page.run(press("#consent-yes"))
    page.until("location.pathname.endsWith('/about/')")
    page.run(press("#attr_gender-0"))
    page.run(press("#attr_politics-0"))
    page.run(press("#submit"))
    page.until("location.pathname.endsWith('/instructions/')")
    page.run(press("#submit"))
    for position in (1, 2, 3):
        page.until(f"location.pathname.endsWith('/task/{position}/')")
        page.until(f"document.querySelector('.progress').innerText.includes('{position} of 3')")
        if scripts:
            page.until("document.querySelector('input[type=range]').offsetHeight > 0")
        page.run(press("#choice-b"))
        page.run(enter_certainty(40 + position))
        if scripts:
            page.until(
                "['.is-b', '.is-none'].map((part) => getComputedStyle(document.querySelector("
                "part)).display).join() === 'inline,none'"
            )
            page.until("document.querySelector('[data-band]').innerText.includes('Quite')")
            page.run(press("[data-opens=help]"))
            page.until("document.querySelector('#help-dialog').offsetHeight > 0")
            page.run(press("#help-dialog form[method=dialog] button"))
            page.until("document.querySelector('#help-dialog').offsetHeight === 0")
        page.run(press("#submit"))
    page.until("location.pathname.endsWith('/feedback/')")
    page.run(press("#submit"))
    page.until("document.querySelector('[data-code]') !== null")


@pytest.mark.parametrize(
    ("name", "scripts"),
    [*((name, True) for name in BROWSERS), *((name, False) for name in (*OLD, "Firefox"))],
    ids=lambda value: {True: "scripts", False: "no scripts"}.get(value, value),
)
def test_a_browser_reaches_the_code(opened, live_server, name, scripts):
    study = make_everyday_study(items=3, certainty_control="slider")
    add_quota(study)
    page = opened(name) if scripts else opened(name, scripts=False)

    walk(page, live_server.url + entry_url(study), scripts=scripts)

    assert Annotator.objects.get().state == "completed"
    answers = Annotation.objects.order_by("certainty")
    assert list(answers.values_list("certainty", flat=True)) == [41, 42, 43]


@pytest.mark.parametrize("name", ["Firefox", "WebKitGTK"])  # Old Chromiums cannot be told to.
def test_a_browser_without_cookies_reads_of_cookies_first(opened, live_server, name):
    study = make_everyday_study(items=3)
    page = opened(name, cookies=False)

    page.go(live_server.url + entry_url(study))

    page.until("document.querySelector('h1').innerText === 'Please allow cookies for this site'")
    assert page.run("return document.cookie") == ""
