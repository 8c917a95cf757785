"""A report in Chromium, from a file and in the app: draws, fits a phone and A4."""

import csv
import datetime
import io
import re
from functools import cache
from itertools import chain

import pytest
from django.conf import settings
from django.db import transaction
from django.test import RequestFactory
from PIL import Image
from playwright.sync_api import expect

from analysis.data.dataset import load_dataset
from analysis.pages.files import with_plotly
from analysis.report.build import all_figures, all_tables, build_report
from analysis.report.render import render_html, shown
from analysis.report.rules import PLOTLY
from analysis.report.stills import WIDTH
from analysis.report.table_files import to_markdown, to_tex
from analysis.report.tables import csv_columns
from studies.exporters.tables import CsvWriter, csv_cell
from tests.analysis.builders import random_study
from tests.browser.conftest import axe, until
from tests.browser.narration import fits_small_windows, narrated
from tests.sampling import examples, some
from tests.studies.hostile import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

TRIED = (80, 56, 81, 50, 95)[: examples(3, every=5)]
WINDOW = {"width": 1280, "height": 900}
HTML = {"content-type": "text/html; charset=utf-8"}
A4_AT_96_DPI = {"width": 794 - 2 * 57, "height": 1123}


SHORTEN = """rows => document.querySelectorAll("tbody").forEach(
    body => [...body.rows].slice(rows).forEach(row => row.remove()))"""
KEEP = """kept => document.querySelectorAll("section[id]").forEach(
    section => kept.includes(section.id) || section.remove())"""
OPEN_CHAPTERS = "document.querySelectorAll('.chapter').forEach(e => { e.open = true; })"
REMEMBER = "document.querySelectorAll('details').forEach(e => { e.wasOpen = e.open; })"
# Brings every control to what it was when the page opened.
RESTORE = """() => {
    document.querySelectorAll("details").forEach(e => { e.open = e.wasOpen; });
    const changed = control => control.type === "radio" ? control.defaultChecked > control.checked
        : control.type === "checkbox" ? control.defaultChecked !== control.checked
        : control.matches("select") ? control.selectedIndex > 0
        : control.value !== control.defaultValue;
    for (const control of document.querySelectorAll("input, select")) {
        if (!changed(control)) continue;
        if (control.matches("[type=radio], [type=checkbox]")) { control.click(); continue; }
        if (control.matches("select")) control.selectedIndex = 0;
        else control.value = control.defaultValue;
        for (const type of ["input", "change"])
            control.dispatchEvent(new Event(type, { bubbles: true }));
    }
}"""


@pytest.fixture(scope="module")
def built(django_db_setup, django_db_blocker):
    """The report at the threshold of its call; the study itself is gone again."""
    with django_db_blocker.unblock(), transaction.atomic():
        study = random_study(
            1,
            n_items=60,
            n_raters=10,
            truths=("r1", "r2"),
            title="A study with <b>markup</b> & 5 % 中 in its title",
            is_simulated=True,
            state="closed",
        )
        data = load_dataset(study.slug)
        transaction.set_rollback(True)
    return cache(lambda tau: build_report(data, seed=1, bootstrap=100, threshold=tau))


@pytest.fixture(scope="module")
def report(built):
    return built(80)


@pytest.fixture(scope="module")
def report_file(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_html(report, date=datetime.date(2026, 11, 20)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def open_page(browser, report_file):
    """Open the file, offline, or the page in the app; whatever it says or asks for is kept."""
    contexts = []
    html, _ = with_plotly(RequestFactory().get("/"), report_file.read_bytes(), "")
    script = (settings.BASE_DIR / "static" / PLOTLY).read_bytes()

    def open_page(*, chapters=True, file=False):
        context = browser.new_context(viewport=WINDOW, offline=file)
        contexts.append(context)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        if file:
            page.goto(report_file.as_uri())
        else:
            page.route("http://testserver/", lambda route: route.fulfill(body=html, headers=HTML))
            page.route(
                "http://testserver/static/**",
                lambda route: route.fulfill(body=script, content_type="text/javascript"),
            )
            page.goto("http://testserver/")
        page.wait_for_selector("body[data-drawn]")
        if chapters:
            page.evaluate(OPEN_CHAPTERS)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def opened(open_page):
    page = open_page()
    page.evaluate(REMEMBER)
    return page


@pytest.fixture
def page(opened):
    """One page for many tests, as to draw all figures takes seconds; its controls are restored."""
    yield opened
    opened.evaluate(RESTORE)
    assert opened.said == []


@pytest.fixture(scope="module")
def opened_folded(open_page):
    page = open_page(chapters=False)
    page.evaluate(REMEMBER)
    return page


@pytest.fixture
def folded(opened_folded):
    """The same with its chapters closed, as a reader finds it."""
    yield opened_folded
    opened_folded.evaluate(RESTORE)
    opened_folded.evaluate("history.replaceState(null, '', location.pathname); scrollTo(0, 0)")
    opened_folded.set_viewport_size(WINDOW)
    assert opened_folded.said == []


@pytest.fixture(scope="module")
def spare(open_page):
    """One that tests may leave as they like."""
    return open_page()


@pytest.fixture(scope="module")
def file(open_page):
    """The file of the report, without the app."""
    return open_page(file=True)


@pytest.fixture
def on_paper(page):
    """The same page as it is printed on A4."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size(A4_AT_96_DPI)
    yield page
    page.set_viewport_size(WINDOW)
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")


def test_a_file_asks_for_nothing_and_has_a_still_picture_of_every_plot(file, report, report_file):
    panels = sum(len(figure.panels) for figure in all_figures(report).values())
    pictures = file.locator(".plot svg.still")

    assert file.said == []
    assert [url for url in file.asked if not url.startswith(("data:", "blob:"))] == [
        report_file.as_uri()
    ]
    assert pictures.count() == panels
    for width in (390, 1280):
        file.set_viewport_size({"width": width, "height": 900})
        boxes = [picture.bounding_box() for picture in pictures.all()]
        assert all(200 < box["width"] <= min(480, width) for box in boxes)
        until(file, f"document.documentElement.scrollWidth === {width}")


@pytest.mark.nightly
def test_a_figure_of_a_file_is_saved_as_it_stands(file):
    figure = file.locator("#figure-position")

    saved = {}
    for name in ("PNG", "SVG"):
        with file.expect_download() as download:
            figure.get_by_role("button", name=name).click()
        saved[name] = download.value.path().read_bytes()

    assert b"answers for side A" in saved["SVG"]
    with Image.open(io.BytesIO(saved["PNG"])) as picture:
        assert picture.width == 3 * WIDTH
        assert len(picture.convert("RGB").getcolors(10**6)) > 10
    assert file.said == []


def test_a_tried_threshold_moves_the_tables_of_a_file_and_no_figure(file, report):
    stamps = file.locator("#figure-histograms .figure-head .threshold-stamp")
    titles = file.locator("figure h3")
    before = [stamps.inner_text(), titles.all_inner_texts()]

    move_threshold(file, 70)

    assert file.locator("#table-table_a .threshold-stamp").inner_text() == "Threshold 70, explored"
    assert [stamps.inner_text(), titles.all_inner_texts()] == before
    assert "figures and every other number keep 80" in file.locator("#threshold").inner_text()
    assert not file.get_by_label("Only from 40").is_visible()
    file.get_by_role("button", name="Back to 80").click()
    assert file.said == []


def test_every_figure_is_drawn(page, report):
    panels = sum(len(figure.panels) for figure in all_figures(report).values())
    assert page.locator(".plot svg.main-svg").count() >= panels
    empty = page.evaluate(
        "[...document.querySelectorAll('.plot')]"
        ".filter(e => !e.querySelector('.points path, .point path, .js-line')).map(e => e.id)"
    )
    assert empty == []


@pytest.mark.nightly
def test_figures_are_as_wide_as_their_place_after_the_window_changes(spare):
    spare.set_viewport_size({"width": 390, "height": 900})

    fits = "[...document.querySelectorAll('.plot')].every(e => e.layout.width === e.clientWidth)"
    until(spare, fits)
    assert spare.evaluate("document.querySelector('.plot').clientWidth") < 390
    box = spare.locator("#table-what_was_found .scroll")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")  # with every n in sight


@pytest.mark.nightly
def test_it_prints_on_a4_without_cut_figures(on_paper):
    too_wide = on_paper.evaluate(
        "[...document.querySelectorAll('.plot svg, table')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.closest('[id]').id)"
    )
    pdf = on_paper.pdf(format="A4")

    assert too_wide == []
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 5


FOLDED = "[...document.querySelectorAll('.chapter:not([open])')].map(e => e.parentElement.id)"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_first_screen_has_the_answer_a_chart_caveats_and_what_would_settle_it(
    folded, width, height
):
    page = folded
    page.set_viewport_size({"width": width, "height": height})

    expect(page.locator(".answer")).to_be_in_viewport(ratio=1)
    expect(page.locator(".verdict-chart svg")).to_be_in_viewport(ratio=1)
    expect(page.locator(".caveats")).to_be_in_viewport(ratio=1)
    assert page.locator(".caveats li").count() == 3
    expect(page.get_by_role("heading", name="What to do next")).to_be_in_viewport(ratio=1)
    # Reading comes before anything that is folded, and the page stays short.
    screens = page.evaluate("document.documentElement.scrollHeight / innerHeight")
    assert screens < (7 if width > 1000 else 11)


# `test_with_everything_open_it_fits_and_axe_finds_nothing` has axe's rules by default.
@pytest.mark.nightly
def test_the_first_screen_is_complete_for_a_screen_reader(folded):
    fits_small_windows(folded)

    nodes = narrated(folded)

    assert nodes["banner"], "who says that the data are simulated"
    assert nodes["navigation"]
    assert any(node.name for node in nodes["image"])


def test_contents_follow_the_answer_on_a_phone_and_stand_beside_it_on_a_desktop(folded):
    below = """document.querySelector('.contents').getBoundingClientRect().top
        >= document.querySelector('.first').getBoundingClientRect().bottom"""

    assert not folded.evaluate(below)
    folded.set_viewport_size({"width": 390, "height": 900})
    assert folded.evaluate(below)


def test_links_open_what_is_folded(folded):
    page = folded
    assert {"accuracy", "methods", "limits"} <= set(page.evaluate(FOLDED))

    page.get_by_role("link", name="More limits").click()
    until(page, "document.querySelector('#limits > details').open")
    expect(page.locator("#limits li").first).to_be_in_viewport()
    page.locator("#limits > details > summary").click()
    page.get_by_role("link", name="More limits").click()
    until(page, "document.querySelector('#limits > details').open")

    page.evaluate("location.hash = '#table-items'")
    until(page, "document.querySelector('#items').open")
    assert page.locator("#table-items").is_visible()


@pytest.mark.nightly
def test_paper_has_the_findings_and_main_tables_and_all_of_it_on_request(folded):
    page = folded
    before = page.evaluate(FOLDED)

    short = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
    page.evaluate("() => { window.print = () => dispatchEvent(new Event('beforeprint')); }")
    press_print = "document.querySelector('[data-print=all]').click()"
    page.evaluate(press_print)
    assert page.evaluate(FOLDED) == []
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(FOLDED) == before
    page.evaluate(press_print)
    closed = "document.querySelectorAll('#methods details:not([open], .on-screen)').length"
    assert page.evaluate(closed) == 0
    whole = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
    assert short <= 6 < whole


def test_a_figure_is_saved_as_a_file(page):
    figure = page.locator("#figure-sheets, #figure-position").last

    for label, ending in [("PNG", ".png"), ("SVG", ".svg"), ("CSV", ".csv")]:
        with page.expect_download() as download:
            figure.get_by_role("button", name=label).click()

        assert download.value.suggested_filename.endswith(ending)
        assert download.value.path().stat().st_size > 100


def move_threshold(page, threshold):
    page.evaluate(
        """threshold => {
            const slider = document.getElementById("threshold-value");
            slider.value = threshold;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        threshold,
    )


def saved(page, place, label):
    """Name and text of the file that a button of a table gives."""
    with page.expect_download() as download:
        page.locator(place).get_by_role("button", name=label, exact=True).click()
    return download.value.suggested_filename, download.value.path().read_text("utf-8")


def test_another_threshold_shows_what_a_report_with_it_would(page, built):
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    for threshold in TRIED:
        if threshold != 80:
            move_threshold(page, threshold)
            shows_threshold(page, threshold, built(threshold))


def shows_threshold(page, threshold, report):
    tables = all_tables(report)
    for name in ("table_a", "table_b", "table_b_single"):
        shown = page.evaluate(
            """name => [...document.querySelectorAll(`#table-${name} tbody tr`)].map(row =>
                [...row.cells].map(cell => [cell.firstChild.textContent,
                    ...[...cell.querySelectorAll(".below")].map(line => line.textContent)]))""",
            name,
        )
        cells = [[[c.text, *c.below] for c in row] for row in tables[name].cells]
        # Intervals of whole sides, which allow for shared people, are only at the report's own.
        sides = 1 if name == "table_a" else len(cells)
        assert shown[sides:] == cells[sides:], name
        for row, wanted in zip(shown[:sides], cells[:sides], strict=True):
            assert all(a in (b, b[:2]) for a, b in zip(row, wanted, strict=True)), name
        file, text = saved(page, f"#table-{name}", "CSV")
        assert file == f"{name}-explored-{threshold}.csv"
        rows = list(csv.reader(text.splitlines()))
        found, wanted = as_numbers(rows), as_numbers(csv_file(tables[name]))
        pairs = zip(chain(*found), chain(*wanted), strict=True)
        assert all(a in (b, "") for a, b in pairs), name
    corner = "[...document.querySelectorAll('.plot')].find(e => e.id === 'histograms-1')"
    said = page.evaluate(f"{corner}.layout.annotations[0].text")
    high = report["human"]["majority"]["high"]
    assert f"({high['correct']}/{high['n']})" in said
    assert f"high from {threshold}, explored" in said


def csv_file(table):
    heading, columns = csv_columns(table)
    rows = [heading, *zip(*columns, strict=True)]
    return [[csv_cell(value) for value in row] for row in rows]


def as_numbers(rows):
    return [[value if not is_number(value) else float(value) for value in row] for row in rows]


def is_number(value):
    try:
        float(value)
    except ValueError:
        return False
    return True


def test_a_threshold_that_was_tried_is_called_explored_until_it_is_set_back(page):
    stamps = page.locator("#table-table_a .threshold-stamp")
    before = page.locator("main").inner_text()

    move_threshold(page, 70)

    assert stamps.inner_text() == "Threshold 70, explored"
    assert "Explored threshold 70." in page.locator("#threshold [role=status]").inner_text()
    page.get_by_role("button", name="Back to 80").click()
    assert stamps.inner_text() == "Threshold 80, set before the data"
    assert page.locator("main").inner_text() == before


def test_the_marks_of_the_figures_follow_the_threshold(page, built):
    move_threshold(page, 56)

    marks = page.evaluate(
        "document.getElementById('risk_coverage-1').data.filter(t => t.meta === 'mark')"
        ".map(t => [t.x[0], t.y[0]])"
    )
    expected = [
        [trace["x"][0], trace["y"][0]]
        for trace in all_figures(built(56))["risk_coverage"].panels[0].drawing["data"]
        if trace["meta"] == "mark"
    ]
    assert marks == expected
    line = "document.getElementById('certainty_curves-1').layout.shapes[0].x0"
    assert page.evaluate(line) == 56


def file_of(page, name, label):
    """The text that a button of a table would save; None where there is no such button."""
    return page.evaluate(
        """async ([name, label]) => {
            const table = document.querySelector(`table[data-name="${name}"]`);
            const box = table.closest(".table-box, figure");
            const button = [...(box?.querySelectorAll(".tools button") ?? [])].find(
                (button) => button.textContent === label);
            if (!button) return null;
            const { createObjectURL } = URL;
            const { click } = HTMLAnchorElement.prototype;
            HTMLAnchorElement.prototype.click = () => {};
            const file = new Promise((done) => {
                URL.createObjectURL = (blob) => { done(blob); return ""; };
            });
            button.click();
            const text = await (await file).text();
            URL.createObjectURL = createObjectURL;
            HTMLAnchorElement.prototype.click = click;
            return text;
        }""",
        [name, label],
    )


def test_files_of_a_table_are_those_that_the_report_has_in_its_folder(page, report):
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")

    offered = 0
    for name, whole in all_tables(report).items():
        if not page.locator(f'table[data-name="{name}"]').count():
            continue  # only in the folder
        table = shown(whole, report).table  # without rows that have no value
        # A figure offers its numbers as CSV alone.
        assert file_of(page, name, "LaTeX") in {to_tex(table), None}, name
        assert file_of(page, name, "Markdown") in {to_markdown(table), None}, name
        if written := file_of(page, name, "CSV"):
            assert as_numbers(csv.reader(written.splitlines())) == as_numbers(csv_file(table)), name
            offered += 1
    assert offered > 20
    assert saved(page, "#table-table_b", "LaTeX") == (
        "table_b.tex",
        to_tex(all_tables(report)["table_b"]),
    )


def test_a_hostile_cell_is_the_same_in_a_file_of_the_page_and_of_the_report(page):
    expected = io.StringIO()
    CsvWriter(expected).rows([text, 1] for text in HOSTILE)

    page.evaluate(
        """texts => {
            const [first] = document.querySelector("table[data-name=table_b] tbody").rows;
            first.replaceChildren(...texts.map((text) => {
                const cell = document.createElement("td");
                cell.dataset.raw = JSON.stringify([text, 1]);
                return cell;
            }));
        }""",
        list(HOSTILE),
    )

    written = file_of(page, "table_b", "CSV")

    row = expected.getvalue().removesuffix("\n").replace(",1\n", ",1,")
    assert f"\n{row}" in written


@pytest.mark.nightly
def test_items_are_filtered_by_what_they_contain(page, report):
    page.locator("#items summary").click()

    page.get_by_label("Words", exact=True).fill("i017")

    rows = page.locator("#table-items tbody tr:visible")
    assert rows.count() == 1
    assert "i017" in rows.inner_text()
    assert page.locator(".items output").inner_text() == "1 of 60 items"


def test_items_are_filtered_by_who_was_right_and_a_file_holds_what_is_shown(page, report):
    page.locator("#items summary").click()

    page.get_by_label("Which", exact=True).select_option("people right, judge wrong")
    page.get_by_label("Judge", exact=True).select_option(index=1)

    wanted = [
        item["item"]
        for item in report["items"]
        if item["people"]["correct"] is True and item["judges"][1]["correct"] is False
    ]
    assert page.locator("#table-items tbody tr:visible th").all_inner_texts() == wanted
    rows = list(csv.reader(saved(page, "#table-items", "CSV")[1].splitlines()))
    assert [row[0] for row in rows[1:]] == wanted


@pytest.mark.nightly
def test_items_are_filtered_by_group(page, report):
    page.locator("#items summary").click()

    page.get_by_label("Group").select_option("0.1")

    topic = report["groups"][0]["rows"][1]["value"]
    shown = page.locator("#table-items tbody tr:visible td:nth-child(2)").all_inner_texts()
    assert set(shown) == {topic}
    assert len(shown) == report["groups"][0]["rows"][1]["items"]


@pytest.mark.nightly
def test_items_are_sorted_by_a_column_and_say_so(spare):
    page = spare
    page.set_viewport_size(WINDOW)
    page.evaluate("document.querySelector('#items').open = true")
    heading = page.locator("#table-items thead th.number").first

    heading.get_by_role("button").click()
    heading.get_by_role("button").click()

    column = heading.evaluate("th => th.cellIndex + 1")
    cells = page.locator(f"#table-items tbody tr > :nth-child({column})").all_inner_texts()
    values = [float(text) for text in cells if text != "–"]
    assert values == sorted(values, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"


def test_without_javascript_the_numbers_are_there(browser, report_file):
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(report_file.as_uri())

    assert "JavaScript is off" in page.locator("body").inner_text()
    page.locator("details:has(#figure-accuracy) > summary").first.click()
    assert page.locator("#figure-accuracy svg.still").first.is_visible()
    assert page.locator("#figure-histograms table tbody tr").count() > 10
    context.close()


def test_with_everything_open_it_fits_and_axe_finds_nothing(spare):
    page = spare
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        until(page, f"document.documentElement.scrollWidth === {width}")
    # The rows of a table are alike.
    page.evaluate(SHORTEN, examples(4, every=10_000))

    found = axe(page, colors=False)
    chapters = page.evaluate("[...document.querySelectorAll('section[id]')].map(e => e.id)")
    page.evaluate(KEEP, some(chapters, keep=4))
    colors = axe(page)

    assert not found.violations_count, found.generate_report()
    assert not colors.violations_count, colors.generate_report()


@pytest.mark.nightly
def test_the_items_of_a_group_are_found_by_keyboard(page, report):
    page.evaluate("document.querySelectorAll('#groups details').forEach(e => { e.open = true; })")
    table = next(t for name, t in all_tables(report).items() if name.startswith("group_"))
    name = page.locator(f'table[data-name="{table.name}"] tbody th button').first

    name.press("Enter")

    shown = page.locator(".items output").inner_text()
    assert shown == f"{table.rows[0][1]} of {report['inputs']['items']} items"
    expect(page.locator("[name=group]")).to_be_focused()


@pytest.mark.nightly
def test_a_histogram_is_cut_as_in_the_article_and_whole_again(page):
    shown = "document.getElementById('histograms-1').layout.xaxis.range[0]"
    box = page.locator("#figure-histograms").get_by_label("Only from 40")

    box.check()
    cut = page.evaluate(shown)
    box.uncheck()

    assert (cut, page.evaluate(shown)) == (3.5, -0.6)


@pytest.mark.nightly
def test_the_article_stands_beside_the_sheets_on_request(page):
    shapes = "document.getElementById('sheets-1').layout.shapes.length"
    before = page.evaluate(shapes)

    page.locator("#figure-sheets").get_by_label("0.597 ± 0.087").check()

    assert page.evaluate(shapes) == before + 2
    assert "source article 0.597" in page.locator("#sheets-1").text_content()


def test_a_number_of_a_finding_leads_to_its_row_and_from_there_to_its_table(page):
    page.locator(".headline .number-link[href*=judge_on_own]").first.click()

    until(page, "document.querySelector('#sources').open")
    row = page.locator("tr:target")
    assert row.is_visible()
    assert "high_sets.judge_on_own" in row.inner_text()
    row.get_by_role("link").click()
    assert page.url.endswith("#table-high_sets")


@pytest.mark.nightly
def test_small_plots_stand_three_in_a_row_on_paper(on_paper):
    tops = on_paper.evaluate(
        "[...document.querySelectorAll('#figure-histograms .panel')]"
        ".slice(0, 3).map(e => Math.round(e.getBoundingClientRect().top))"
    )

    assert len(set(tops)) == 1
