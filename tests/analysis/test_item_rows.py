"""Long tables: the page has their first rows, its script more of them, the app all items."""

import base64
import datetime
import json
import re
import zlib

import pytest

from analysis.report import table_files
from analysis.report.build import all_tables, build_report
from analysis.report.render import render_html
from analysis.report.report_json import without_people
from analysis.report.table_files import pack, read_item_rows, write_item_rows
from analysis.report.tables import FIRST_ITEMS
from benchmarks.report import simulated

N_ITEMS = 600
NOT_COUNTED = ("surplus", "released", "withdrawn", "excluded", "excluded_people")


def report_of(n_items):
    found = build_report(simulated(n_items), seed=1, bootstrap=20)
    found["human"]["not_counted"] = dict.fromkeys(NOT_COUNTED, 0)
    return found


@pytest.fixture(scope="module")
def report():
    return report_of(N_ITEMS)


@pytest.fixture(scope="module")
def large():
    return report_of(2_400)


@pytest.fixture(scope="module")
def page(large):
    return render_html(large, date=datetime.date(2026, 11, 20))


def unpacked(text):
    return json.loads(zlib.decompress(base64.b64decode(text)))


def packed_of(page, name):
    script = page.index('<script type="module"')
    return re.compile(rf'class="packed" data-of="{name}">([^<]*)</script>').search(page, script)[1]


@pytest.mark.nightly
def test_the_page_of_thousands_of_items_stays_small(page):
    assert len(page.encode()) < 1_050_000
    assert len(re.findall(r"<[a-z]", page)) < 15_000
    table = page[page.index('id="table-items"') :]
    assert table[: table.index("</table>")].count("<tr data-item=") == FIRST_ITEMS


@pytest.mark.nightly
def test_all_rows_are_packed_where_they_fit(page, large):
    rows = unpacked(packed_of(page, "items"))

    assert [row[0][0] for row in rows] == [item["item"] for item in large["items"]]
    for row, item in zip(rows, large["items"], strict=True):
        sides = [item["people"], *item["judges"]]
        assert row[0][5:] == [v for side in sides for v in (side["choice"], side["certainty"])]
        assert row[1] == [side["correct"] for side in sides]
        assert row[2] == item["groups"]
    assert "all of them also in" in page
    assert "data-more" not in page


@pytest.mark.nightly
def test_rows_that_do_not_fit_are_elsewhere_and_the_page_says_so(report, monkeypatch):
    monkeypatch.setattr(table_files, "PACKED_BYTES", 10_000)

    page = render_html(report, date=datetime.date(2026, 11, 20))

    packed = packed_of(page, "items")
    assert 7_500 < len(packed) <= 10_000
    n = len(unpacked(packed))
    assert 100 < n < N_ITEMS
    assert f"{N_ITEMS} rows: {n} are in this file" in page
    assert 'data-more="items.json"' in page


def test_a_shared_copy_asks_the_app_for_nothing(report):
    page = render_html(without_people(report), date=datetime.date(2026, 11, 20))

    assert 'data-more="items.json"' not in page
    assert 'href="tables/' not in page
    assert 'id="table-items"' not in page


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_rows_are_packed_whole(n):
    rows = [[["a"], [], []]] * n

    text, packed = pack(lambda first: rows[:first], len(rows))

    assert packed == n
    assert (unpacked(text) if text else []) == rows


def test_pages_of_rows_follow_a_key_and_end(report, tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "ROWS_PER_FILE", 250)
    rows = table_files.item_rows(report, all_tables(report)["items"])
    write_item_rows(rows, tmp_path / "rows")

    read, after, sizes, more = [], "", [], True
    while more:
        page, more = read_item_rows(tmp_path / "rows", after=after)
        read += page
        sizes.append(len(page))
        after = page[-1][0][0]

    assert read == rows
    assert sizes == [250, 250, 100]
    assert read_item_rows(tmp_path / "rows", after=after) == ([], False)
