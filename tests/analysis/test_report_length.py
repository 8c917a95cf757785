"""What somebody reads in the report of a plain study: no more than in fifteen minutes."""

import datetime
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from analysis.report.render import render_html
from tests.analysis.builders import random_study
from tests.analysis.partial import report_of

pytestmark = pytest.mark.django_db

ONE_JUDGE = {"judge": "steady", "setting": "certainty", "orders": "both"}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z“0-9])")
NUMBER = re.compile(r"\d")
NOT_READ = {"script", "style", "svg", "pre", "nav", "button", "option"}
BLOCKS = {"p", "li", "dd", "dt", "figcaption", "caption", "td", "th", "summary", "h1", "h2", "h3"}


class Reader(HTMLParser):
    """What a page says: its blocks of text in reading order, its tables and figures."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.blocks: list[tuple[str, str]] = []
        self.tables: list[str] = []
        self.figures = 0
        self._hidden: list[str] = []
        self._in: list[str] = ["p"]
        self._text = ""
        self.feed(page)
        self._end()

    def handle_starttag(self, tag, attrs):
        if tag in NOT_READ:
            self._hidden.append(tag)
        if tag in BLOCKS:
            self._end()
            self._in.append(tag)
        found = dict(attrs)
        if tag == "div" and (found.get("id") or "").startswith("table-"):
            self.tables.append(found["id"].removeprefix("table-"))
        self.figures += tag == "figure"

    def handle_endtag(self, tag):
        if self._hidden and tag == self._hidden[-1]:
            self._hidden.pop()
        if tag in BLOCKS and tag in self._in:
            self._end()
            while self._in.pop() != tag:
                pass

    def handle_data(self, data):
        if not self._hidden:
            self._text += data

    def _end(self):
        if words := " ".join(self._text.split()):
            self.blocks.append((self._in[-1] if self._in else "p", words))
        self._text = ""

    @property
    def sentences(self) -> list[str]:
        return [
            sentence
            for tag, text in self.blocks
            if tag in {"p", "li", "figcaption", "dd"}
            for sentence in SENTENCE_END.split(text)
            if sentence.endswith((".", "?", "!"))
        ]

    @property
    def cells_with_numbers(self) -> Iterator[str]:
        return (text for tag, text in self.blocks if tag in {"td", "th"} and NUMBER.search(text))


def plain_study():
    return random_study(
        5,
        n_items=300,
        n_raters=36,
        per_item=(3,),
        n_personas=30,
        truths=("r1", "r2"),
        runs=[ONE_JUDGE],
        extras=[],
    )


@pytest.fixture(scope="module")
def page(module_db) -> str:
    return render_html(report_of(plain_study()), date=datetime.date(2026, 11, 28))


@pytest.fixture(scope="module")
def reader(page) -> Reader:
    return Reader(page)


def test_a_plain_report_is_read_in_a_quarter_of_an_hour(reader):
    assert len(reader.sentences) <= 150
    assert len(reader.tables) <= 20
    assert len(list(reader.cells_with_numbers)) <= 1_200
    assert reader.figures <= 6


def test_the_file_of_a_plain_report_is_small(page):
    assert len(page.encode()) <= 300_000


def test_no_note_is_said_twice(reader):
    notes = [sentence for sentence in reader.sentences if "Italics:" in sentence]
    assert len(notes) == 1


def test_no_row_is_without_a_value(page):
    agreement = page.partition('id="table-agreement"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", agreement.partition("<tbody>")[2])
    assert rows
    assert all(re.search(r"<td[^>]*>[^<–]", row) for row in rows)


@pytest.mark.nightly
def test_an_extra_shows_the_details_of_its_subject():
    study = plain_study()
    study.extras = ["certainty"]
    study.save(update_fields=["extras"])

    tables = Reader(render_html(report_of(study), date=datetime.date(2026, 11, 28))).tables

    assert {"by_band", "bands", "certainty_measures", "certainty_by_item"} <= set(tables)
    assert "difference_intervals" not in tables
