"""Searching the documentation: sections that contain every word, the best first."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from config.documentation.views import INDEX, anchor_of, pages, text_of, title_of

_MOST = 30
_LONGEST_QUERY = 100
_AROUND = 90
_FENCE = re.compile(r"^(```|~~~)")
_HEADING = re.compile(r"^#{1,4} (.+)$")
# Markdown that an excerpt does without: targets of links, emphasis, code, cells of tables.
_MARKS = re.compile(r"\]\([^)]*\)|[\[*`]|^\s*(?:[-|]|#+)\s*|\|", re.MULTILINE)


@dataclass(frozen=True)
class DocumentationSection:
    """The text below one heading of a page."""

    page: str
    title: str
    heading: str
    anchor: str
    text: str


@dataclass(frozen=True)
class SearchResult:
    section: DocumentationSection
    excerpt: str


def search(query: str) -> list[SearchResult]:
    """The sections with all words of the query; those with a word in a heading come first."""
    words = query[:_LONGEST_QUERY].lower().split()
    if not words:
        return []
    scored = []
    for number, section in enumerate(_sections()):
        heading = f"{section.title} {section.heading}".lower()
        text = section.text.lower()
        if all(word in heading or word in text for word in words):
            in_heading = sum(word in heading for word in words)
            count = sum(text.count(word) for word in words)
            scored.append((-in_heading, -count, number, section))
    return [
        SearchResult(found, _excerpt(found.text, words)) for *_, found in sorted(scored)[:_MOST]
    ]


@cache
def _sections() -> list[DocumentationSection]:
    found = [section for name in pages() if name != INDEX for section in _sections_of(name)]
    return [section for section in found if section.text]


def _sections_of(name: str) -> Iterator[DocumentationSection]:
    text = text_of(name)
    title, heading = title_of(text), ""
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        is_code ^= bool(_FENCE.match(line))
        found = None if is_code else _HEADING.match(line)
        if found:
            yield _section(name, title, heading, lines)
            heading, lines = found[1].replace("`", ""), []
        else:
            lines.append(line)
    yield _section(name, title, heading, lines)


def _section(name: str, title: str, heading: str, lines: list[str]) -> DocumentationSection:
    text = " ".join(_MARKS.sub("", "\n".join(lines)).split())
    is_top = heading in ("", title)
    return DocumentationSection(
        name, title, "" if is_top else heading, "" if is_top else anchor_of(heading), text
    )


def _excerpt(text: str, words: list[str]) -> str:
    """The text around the first word; its beginning if the words are in the heading."""
    places = [place for word in words if (place := text.lower().find(word)) >= 0]
    start = max(0, min(places, default=0) - _AROUND)
    end = start + 2 * _AROUND + len(words[0])
    return f"{'… ' if start else ''}{text[start:end].strip()}{' …' if end < len(text) else ''}"
