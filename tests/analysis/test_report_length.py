"""What somebody reads in the report of a plain study: no more than in fifteen minutes."""

import datetime
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from analysis.report.render import render_html
from tests.analysis.builders import random_study
from tests.analysis.partial import report_of

pytestmark = [pytest.mark.django_db, pytest.mark.computed]

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
