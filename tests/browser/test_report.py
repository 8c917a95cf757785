"""A report in Chromium: opens from a file, fetches nothing, draws, fits a phone and A4."""

import datetime
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db import transaction

from analysis.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.contents import all_figures
from analysis.report.render import render_html
from tests.analysis.builders import random_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

A4_AT_96_DPI = {"width": 794 - 2 * 57, "height": 1123}


@pytest.fixture(scope="module")
def report(django_db_setup, django_db_blocker):
    """One report for all tests; the study that it was made from is gone again."""
    with django_db_blocker.unblock(), transaction.atomic():
        study = random_study(
            1,
            n_items=60,
            n_raters=10,
            truths=("r1", "r2"),
            title="A study with <b>markup</b> in its title",
            is_simulated=True,
        )
        built = build_report(load_dataset(study.slug), seed=1, bootstrap=100)
        transaction.set_rollback(True)
    return built


@pytest.fixture(scope="module")
def report_file(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_html(report, date=datetime.date(2026, 11, 20)), encoding="utf-8")
    return path


@pytest.fixture
def open_file(browser, report_file):
    """Open the file in a browser that is offline; whatever it says or asks for is kept."""
    contexts = []

    def open_file(width=1280, height=900):
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(report_file.as_uri())
        page.wait_for_selector("body[data-drawn]")
        return page

    yield open_file
    for context in contexts:
        context.close()


def test_it_opens_from_a_file_and_asks_for_nothing(open_file, report_file):
    page = open_file()

    assert page.said == []
    assert [url for url in page.asked if not url.startswith(("data:", "blob:"))] == [
        report_file.as_uri()
    ]


def test_every_figure_is_drawn(open_file, report):
    page = open_file()

    panels = sum(len(figure.panels) for figure in all_figures(report).values())
    assert page.locator(".plot svg.main-svg").count() >= panels
    empty = page.evaluate(
        "[...document.querySelectorAll('.plot')]"
        ".filter(e => !e.querySelector('.points path, .point path, .js-line')).map(e => e.id)"
    )
    assert empty == []


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_scrolls_sideways(open_file, width):
    page = open_file(width=width)

    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_figures_are_as_wide_as_their_place_after_the_window_changes(open_file):
    page = open_file(width=1280)

    page.set_viewport_size({"width": 390, "height": 900})

    # The page's policy forbids what `wait_for_function` would evaluate in it.
    fits = "[...document.querySelectorAll('.plot')].every(e => e.layout.width === e.clientWidth)"
    for _ in range(100):
        if page.evaluate(fits):
            break
        page.wait_for_timeout(50)
    assert page.evaluate(fits)
    assert page.evaluate("document.querySelector('.plot').clientWidth") < 390


def test_it_prints_on_a4_without_cut_figures(open_file):
    page = open_file()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size(A4_AT_96_DPI)

    too_wide = page.evaluate(
        "[...document.querySelectorAll('.plot svg, table')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.closest('[id]').id)"
    )
    pdf = page.pdf(format="A4")

    assert too_wide == []
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 5


def test_methods_are_open_on_paper_and_closed_again_on_the_screen(open_file):
    page = open_file()
    closed = "document.querySelectorAll('#methods details:not([open])').length"
    before = page.evaluate(closed)

    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    on_paper = page.evaluate(closed)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")

    assert (before > 0, on_paper, page.evaluate(closed)) == (True, 0, before)


@pytest.mark.parametrize(("label", "ending"), [("PNG", ".png"), ("SVG", ".svg"), ("CSV", ".csv")])
def test_a_figure_is_saved_as_a_file(open_file, label, ending):
    page = open_file()
    figure = page.locator("#figure-sheets, #figure-position").last

    with page.expect_download() as download:
        figure.get_by_role("button", name=label).click()

    assert download.value.suggested_filename.endswith(ending)
    assert download.value.path().stat().st_size > 100


def test_items_are_filtered_by_what_they_contain(open_file, report):
    page = open_file()
    page.locator("#items summary").click()

    page.get_by_label("Show items that contain").fill("i017")

    rows = page.locator("#table-items tbody tr:visible")
    assert rows.count() == 1
    assert "i017" in rows.inner_text()


def test_without_javascript_the_numbers_are_there(browser, report_file):
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(report_file.as_uri())

    assert "Figures are drawn by JavaScript" in page.locator("body").inner_text()
    assert page.locator("#figure-histograms table tbody tr").count() > 10
    context.close()


def test_axe_finds_nothing(open_file):
    page = open_file()
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")

    found = Axe().run(page)

    assert found.violations_count == 0, found.generate_report()
