"""The table of items of a report with more rows than its page shows at once."""

import csv
import datetime
import re

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from analysis.data.dataset import load_dataset
from analysis.lifecycle.storage import ITEM_ROWS, report_dir
from analysis.models import Report
from analysis.report import table_files
from analysis.report.build import all_tables, build_report
from analysis.report.render import content_security_policy, render_html
from analysis.report.tables import FIRST_ITEMS
from studies.models import Membership
from tests.analysis.builders import random_study
from tests.browser.conftest import until
from tests.browser.test_report import as_numbers, csv_file, saved
from tests.factories import make_study
from tests.stored import path_of

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db]

N_ITEMS = 240
DATE = datetime.date(2026, 11, 20)


@pytest.fixture(scope="module")
def report(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), transaction.atomic():
        runs = [{"judge": "steady", "setting": "certainty"}]
        study = random_study(1, n_items=N_ITEMS, n_raters=4, truths=("r1", "r2"), runs=runs)
        found = build_report(load_dataset(study.slug), seed=1, bootstrap=100)
        transaction.set_rollback(True)
    return found


@pytest.fixture(scope="module")
def html(report):
    return render_without_figures(report)


def render_without_figures(report):
    """The page with nothing to draw, which would take most of the time of each test."""
    html, n = re.subn(
        r'(<script[^>]* id="plots"[^>]*>).*?(</script>)',
        r"\1{}\2",
        render_html(report, date=DATE),
        flags=re.DOTALL,
    )
    assert n == 1
    return html


@pytest.fixture
def open_items(browser, html, tmp_path):
    """Open the table of items of a page on the disk, offline."""
    contexts = []

    def open_items(html=html, **options):
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector("body[data-drawn]")
        show_items(page)
        return page

    yield open_items
    for context in contexts:
        context.close()


def show_items(page):
    page.locator("#record > details > summary").click()
    page.locator("#items > summary").click()


def shown(page):
    return page.locator("#table-items tbody th").all_inner_texts()


def said(page):
    return page.locator(".items output").inner_text()


def keys(report):
    return [item["item"] for item in report["items"]]


@pytest.mark.nightly
def test_a_hundred_rows_are_shown_and_more_on_request(open_items, report):
    page = open_items()
    assert shown(page) == keys(report)[:100]
    assert said(page) == f"{N_ITEMS} of {N_ITEMS} items"

    page.get_by_role("button", name="Show more rows").click()
    until(page, "document.querySelectorAll('#table-items tbody tr').length === 200")
    page.get_by_role("button", name="Show more rows").click()
    until(page, f"document.querySelectorAll('#table-items tbody tr').length === {N_ITEMS}")

    assert shown(page) == keys(report)
    assert not page.get_by_role("button", name="Show more rows").is_visible()


def test_a_filter_looks_at_every_item(open_items, report):
    page = open_items()

    page.get_by_label("Which", exact=True).select_option("people right, judge wrong")
    until(page, "!document.querySelector('.items output').textContent.startsWith('Reading')")

    wanted = [
        item["item"]
        for item in report["items"]
        if item["people"]["correct"] is True and item["judges"][0]["correct"] is False
    ]
    assert said(page) == f"{len(wanted)} of {N_ITEMS} items"
    assert shown(page) == wanted[:100]


def test_sorting_orders_every_item(open_items, report):
    page = open_items()
    heading = page.locator("#table-items thead th.number").first

    heading.get_by_role("button").click()
    heading.get_by_role("button").click()
    largest = max(item["people"]["certainty"] or 0 for item in report["items"])
    column = heading.evaluate("th => th.cellIndex")
    cell = f"document.querySelector('#table-items tbody tr').cells[{column}].dataset.raw"
    until(page, f"JSON.parse({cell})[0] === {largest}")


def test_a_file_holds_every_row(open_items, report):
    page = open_items()

    _, text = saved(page, "#table-items", "CSV")

    rows = list(csv.reader(text.splitlines()))
    assert as_numbers(rows) == as_numbers(csv_file(all_tables(report)["items"]))


def test_a_page_that_lacks_rows_says_so_and_filters_those_it_has(open_items, report, monkeypatch):
    monkeypatch.setattr(table_files, "PACKED_BYTES", 2_500)
    page = open_items(render_without_figures(report))
    n = int(re.search(r"240 rows: (\d+) are in this file", page.content())[1])
    assert 100 <= n < N_ITEMS

    page.get_by_label("Words", exact=True).fill("i")

    told = "document.querySelector('.items output').textContent"
    until(page, f"{told}.endsWith('{n} items in this file')")


def test_without_javascript_the_first_rows_and_the_way_to_all_are_there(open_items, report):
    page = open_items(java_script_enabled=False)

    assert page.locator("#table-items tbody tr").count() == FIRST_ITEMS
    link = page.locator("#table-items").get_by_role("link", name="tables/items.csv")
    assert link.get_attribute("href") == "tables/items.csv"


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
def test_in_the_app_the_server_has_the_rows_that_the_page_lacks(
    signed_in, report, settings, tmp_path, monkeypatch
):
    monkeypatch.setattr(table_files, "PACKED_BYTES", 100)
    monkeypatch.setattr(table_files, "ROWS_PER_FILE", 50)
    settings.VAR_DIR = tmp_path
    stored = stored_report(report)
    page = signed_in()
    page.goto(reverse("analysis:open", args=[stored.study.slug, stored.public_id]))
    page.wait_for_selector("body[data-drawn]")
    show_items(page)

    page.get_by_label("Words", exact=True).fill(keys(report)[-1])

    until(page, f"document.querySelector('.items output').textContent === '1 of {N_ITEMS} items'")
    assert shown(page) == keys(report)[-1:]
    link = page.locator("#table-items tbody a").get_attribute("href")
    assert link == f"../../items/{keys(report)[-1]}/"


def stored_report(report):
    study = make_study(slug=report["study"]["slug"])
    user = User.objects.create_user("reader")
    Membership.objects.create(user=user, study=study, role="viewer")
    stored = Report.objects.create(
        study=study,
        number=1,
        threshold=80,
        bootstrap=100,
        seed=1,
        state="done",
        result=report,
        finished_at=timezone.now(),
        content_security_policy=content_security_policy(),
    )
    folder = path_of(report_dir(stored.public_id))
    folder.mkdir(parents=True)
    (folder / "report.html").write_text(render_without_figures(report), encoding="utf-8")
    rows = table_files.item_rows(report, all_tables(report)["items"])
    table_files.write_item_rows(rows, folder / ITEM_ROWS)
    return stored
