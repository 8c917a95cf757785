"""Researchers' Markdown as safe HTML: no raw HTML, no images, no links but http, https, mailto."""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

import nh3
from django.utils.safestring import SafeString, mark_safe

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_TAGS = set(
    "a blockquote br code em h2 h3 h4 hr li ol p pre strong table tbody td th thead tr ul".split()
)
_ATTRIBUTES = {"a": {"href"}, "ol": {"start"}}


@lru_cache(maxsize=100)
def render_markdown(text: str) -> SafeString:
    """`text` as HTML; `# heading` becomes second-level, because the page has its own."""
    html = _parser().render(text).replace("<h1>", "<h2>").replace("</h1>", "</h2>")
    clean = nh3.clean(
        html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"http", "https", "mailto"}
    )
    return mark_safe(clean)  # noqa: S308  just sanitised


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # Here, because commands that show no text need none.

    return MarkdownIt("commonmark", {"html": False}).enable("table")
