"""A page of `docs/` as HTML: with links to other pages, anchors, and tables that scroll."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from config.documentation.files import files, pages, text_of, title_of

if TYPE_CHECKING:
    from markdown_it.token import Token


@dataclass(frozen=True)
class DocumentationPage:
    title: str
    html: SafeString
    contents: tuple[tuple[str, str], ...]  # anchor and text of every second-level heading


@lru_cache(maxsize=100)
def render_page(name: str) -> DocumentationPage:
    """The page `name`. Its text is part of the program, so it is trusted; HTML in it is not."""
    text, folder = text_of(name), pages()[name].parent
    parser = _parser()
    tokens = parser.parse(text)
    contents = _name_headings(tokens)
    _leave_corners_empty(tokens)
    for token in tokens:
        for child in token.children or ():
            _lead_to_the_site(child, folder)
    # The template shows the title, with the contents below it.
    body = tokens[3:] if tokens and tokens[0].tag == "h1" else tokens
    html = parser.renderer.render(body, parser.options, {})
    return DocumentationPage(title_of(text), mark_safe(html), tuple(contents))  # noqa: S308


def anchor_of(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _name_headings(tokens: "Sequence[Token]") -> list[tuple[str, str]]:
    """Give every heading its anchor; returns those of the second level."""
    contents = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            token.attrSet("id", anchor_of(text))
            if token.tag == "h2":
                contents.append((anchor_of(text), text))
    return contents


def _leave_corners_empty(tokens: "Sequence[Token]") -> None:
    """Make the empty first cell of a table's head a plain cell: it heads nothing."""
    for start, inline, end in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if start.type == "th_open" and not inline.content:
            start.tag = end.tag = "td"


def _lead_to_the_site(token: "Token", folder: Path) -> None:
    """Turn the address of a file into that of its page; a file that is not shown has no link."""
    name = {"link_open": "href", "image": "src"}.get(token.type)
    if name is None:
        return
    target = urlsplit(str(token.attrGet(name)))
    if target.scheme or not target.path:
        return
    path = Path(normpath(folder / target.path))
    if page := _names(pages()).get(path):
        address = reverse("documentation:page", args=[page])
        token.attrSet(name, address + (f"#{target.fragment}" if target.fragment else ""))
    elif file := _names(files()).get(path):
        token.attrSet(name, reverse("documentation:file", args=[file]))
    else:
        del token.attrs[name]


@lru_cache(maxsize=1)
def _parser() -> Any:
    # Here, because only these pages and texts of studies need it.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    # What may be wider than a phone is reached by keyboard too.
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>')
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    for name in ("fence", "code_block"):
        parser.add_render_rule(name, _code)
    return parser


def _code(renderer: Any, tokens: "Sequence[Token]", at: int, *_: Any) -> str:
    from markdown_it.common.utils import escapeHtml

    return f'<pre tabindex="0"><code>{escapeHtml(tokens[at].content)}</code></pre>\n'


def _names(paths: Mapping[str, Path]) -> dict[Path, str]:
    return {path: name for name, path in paths.items()}
