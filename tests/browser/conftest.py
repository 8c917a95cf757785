"""A real Chromium for the tests of pages."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from weakref import WeakSet

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from studies.models import Study
from tests.browser.annotators import enter_items, make_everyday_study
from tests.sampling import examples
from tests.servers import chromium

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = {"width": 390, "height": 844}
SMALL_PHONE = {"width": 320, "height": 568}
DESKTOP = {"width": 1280, "height": 800}
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
# Axe's rules about colours: their results alone differ between themes, and they take most time.
ABOUT_COLORS = ("color-contrast", "link-in-text-block")
# Windows whose dark colours axe has looked at.
_seen_dark: WeakSet[BrowserContext] = WeakSet()
_SHARED = pytest.StashKey[Browser]()
# How long anything may take that has to come: a machine that is busy must not fail a test.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


def until(page: Page, expression: str, arg: object = None) -> None:
    """Wait until `expression` is true in the page, or in the one that takes its place.

    The pages' policy forbids what `wait_for_function` would evaluate in them when it asks again.
    """
    deadline = time.monotonic() + PATIENCE_MS / 1000
    problem = "it is false"
    while time.monotonic() < deadline:
        try:
            if page.evaluate(expression, arg):
                return
        except Error as error:  # Perhaps another page is on its way.
            problem = error.message
        page.wait_for_timeout(50)
    raise AssertionError(f"{page.url}: this did not become true: {expression}\n{problem}")


def axe(
    page: Page, *, colors: bool = True, others: bool = True, within: str = "html"
) -> AxeResults:
    """What axe finds in the page, once it has loaded, in its colours and by its other rules.

    Of the page or of the parts `within` it: for a chapter of a report, whose rest others look at.

    A page that follows a job loads itself again when the job is over, and panels are replaced. If
    that happens while axe looks at the page, axe fails, and looks at what is there then.
    """
    for _ in range(3):
        page.wait_for_load_state()
        with suppress(Error):
            return _violations(page, colors, others, within)
        page.wait_for_timeout(200)
    return _violations(page, colors, others, within)


def _violations(page: Page, colors: bool, others: bool, within: str) -> AxeResults:
    """Axe's results without its long lists of what is well."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE_SCRIPT)
    rules = {rule: {"enabled": colors} for rule in ABOUT_COLORS}
    options: dict[str, object] = {"resultTypes": ["violations"], "rules": rules}
    if not others:
        options["runOnly"] = ABOUT_COLORS
    run = (
        "([within, options]) => axe.run(within, options).then(({ violations }) => ({ violations }))"
    )
    return AxeResults(page.evaluate(run, [within, options]))


def scrolls_sideways(page: Page) -> bool:
    """Whether a page that has loaded is wider than its window.

    A click ends when the answer to it begins to arrive: there may be no document yet.
    """
    page.wait_for_load_state()
    return not page.evaluate(FITS)


def fits_and_reads_well(page: Page, *, within: str = "html") -> None:
    """Fail where the page scrolls sideways at any width, or axe finds something wrong with it."""
    before = page.viewport_size
    _reads_well(page, within)
    _fits_every_width(page)
    page.set_viewport_size(before)


def is_well_in_both_themes(page: Page, *, within: str = "html") -> None:
    """The same in light and in dark colours, the dark ones in the other of two widths.

    Dark colours are values of the same variables on all of researchers' pages: each test looks at
    them once, and with --all at every page.
    """
    before = page.viewport_size
    _reads_well(page, within)
    _fits_every_width(page)
    if page.context in _seen_dark and not examples(0, every=1):
        page.set_viewport_size(before)
        return
    _seen_dark.add(page.context)
    page.emulate_media(color_scheme="dark")
    _reads_well(page, within, others=False)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(before)


def _reads_well(page: Page, within: str, *, others: bool = True) -> None:
    """Fail where axe finds something in the colours of a page, or by its other rules."""
    found = axe(page, others=others, within=within)
    assert not found.violations_count, f"{page.url}\n{found.generate_report()}"


def _fits_every_width(page: Page) -> None:
    """Its own first; the page is left at the other of a phone's and a desktop's.

    Pages of participants are opened on a small phone, whose width counts as well.
    """
    before = page.viewport_size
    for size in (before, *(other for other in (DESKTOP, PHONE) if other != before)):
        if size != before:
            page.set_viewport_size(size)
        page.wait_for_load_state()
        until(page, FITS)  # Figures are drawn again for the new width.


def launch(playwright: Playwright) -> Browser:
    """Chromium as `tests.servers` finds it; without one the tests fail and say what to do."""
    return playwright.chromium.launch(executable_path=chromium(), headless=True, args=FLAGS)


def running(pytestconfig: pytest.Config) -> Iterator[Browser]:
    """One Chromium for the tests of this folder, and gone before those of another one.

    Playwright's synchronous interface keeps an event loop running in this thread, where code that
    starts its own would fail. The database is not touched from inside that loop. Where only tests
    of pages run, as in a pass of `make test`, they share one Chromium: a start takes a second.
    """
    if not pytestconfig.getoption("markexpr").startswith("browser"):
        with _chromium() as browser:
            yield browser
        return
    if _SHARED not in pytestconfig.stash:
        started = ExitStack()
        pytestconfig.add_cleanup(started.close)
        pytestconfig.stash[_SHARED] = started.enter_context(_chromium())
    yield pytestconfig.stash[_SHARED]


@contextmanager
def _chromium() -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as environment, sync_playwright() as playwright:
        environment.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = launch(playwright)
        yield browser
        browser.close()


browser = pytest.fixture(running, scope="package", name="browser")


@pytest.fixture
def open_page(browser: Browser, live_server) -> Iterator:
    """Open pages as `open_page(viewport=…, javascript=…)`; a script error fails the test."""
    contexts, errors = [], []

    def open_page(*, viewport=DESKTOP, javascript: bool = True, **options) -> Page:
        context = browser.new_context(
            viewport=viewport, java_script_enabled=javascript, base_url=live_server.url, **options
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if _is_fault(line) else None)
        return page

    yield open_page
    for context in contexts:
        try:
            context.close()
        except Error:
            pass  # The test closed it.
    assert errors == []


@pytest.fixture
def signed_in(open_page, live_server):
    """Open pages like `open_page`, as the one user that there is."""

    def signed_in(**options) -> Page:
        client = Client()
        client.force_login(User.objects.get())
        page = open_page(**options)
        session = client.cookies["sessionid"].value
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        return page

    return signed_in


@pytest.fixture
def study(live_server) -> Study:
    return make_everyday_study(items=3)


@pytest.fixture
def page(open_page, study) -> Page:
    """The first item of the study."""
    page = open_page()
    enter_items(page, study)
    return page


def _is_fault(line) -> bool:
    """Console errors, but for the browser's own notes on what a request met."""
    return line.type == "error" and "Failed to load resource: " not in line.text
