"""Pages of the documentation and their search, for people and programs, open to everybody."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET

from config.documentation.pages import INDEX, folders, pages, text_of, title_of, whole_text
from studies.pages.workbench import PageLink

if TYPE_CHECKING:
    from markdown_it.token import Token


LINK = PageLink("documentation", "Documentation", lambda: reverse("documentation:index"))
# Kinds of files that pages show or offer besides text.
TYPES = {
    ".ipynb": "application/x-ipynb+json",
    ".jsonl": "application/jsonl",
    ".csv": "text/csv",
    ".json": "application/json",
    ".png": "image/png",
    ".toml": "application/toml",
    ".yml": "application/yaml",
    ".yaml": "application/yaml",
}


@cache
def files() -> dict[str, Path]:
    """Pictures and examples, by their path below `docs/`."""
    return {
        path.relative_to(folder).as_posix(): path
        for folder in folders()
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES
    }


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
    contents = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            token.attrSet("id", anchor_of(text))
            if token.tag == "h2":
                contents.append((anchor_of(text), text))
    return contents


def _leave_corners_empty(tokens: "Sequence[Token]") -> None:
    """Turn the empty first heading of a table into a plain cell."""
    for start, inline, end in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if start.type == "th_open" and not inline.content:
            start.tag = end.tag = "td"


def _lead_to_the_site(token: "Token", folder: Path) -> None:
    """Turn a link to a file into one to its page; remove it if the file is not shown."""
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
    # Imported here, because only these pages and texts of studies need it.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    for name in ("html_inline", "html_block"):
        parser.add_render_rule(name, _html)
    # Content that may be wider than a phone can be scrolled by keyboard too.
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>')
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    for name in ("fence", "code_block"):
        parser.add_render_rule(name, _code)
    return parser


# What Markdown has no sign for.
_TAGS = {f"<{end}{tag}>" for tag in ("kbd", "sub", "sup") for end in ("", "/")}


def _html(renderer: Any, tokens: "Sequence[Token]", at: int, *_: Any) -> str:
    """HTML is shown as text, but for a few harmless tags, and for comments, which are left out."""
    from markdown_it.common.utils import escapeHtml

    content = tokens[at].content
    if content.startswith("<!--"):
        return ""
    return content if content in _TAGS else str(escapeHtml(content))


def _code(renderer: Any, tokens: "Sequence[Token]", at: int, *_: Any) -> str:
    from markdown_it.common.utils import escapeHtml

    return f'<pre tabindex="0"><code>{escapeHtml(tokens[at].content)}</code></pre>\n'


def _names(paths: Mapping[str, Path]) -> dict[Path, str]:
    return {path: name for name, path in paths.items()}


_LINK = re.compile(r"\[([^]]+)\]\(([\w./-]+)\.md\)")


def index_for_programs(absolute: Callable[[str], str]) -> str:
    """The index of the documentation with the address of each page's Markdown.

    `absolute` makes a full address of a path.
    """

    def full(match: re.Match[str]) -> str:
        # A page of an extra has its name from the list of pages.
        name = match[2].rpartition("/docs/")[2]
        if name not in pages():
            return match[1]
        return f"[{match[1]}]({absolute(reverse('documentation:source', args=[name]))})"

    return _LINK.sub(full, text_of(INDEX))


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
    return [SearchResult(hit, _excerpt(hit.text, words)) for *_, hit in sorted(scored)[:_MOST]]


@cache
def _sections() -> list[DocumentationSection]:
    sections = [section for name in pages() if name != INDEX for section in _sections_of(name)]
    return [section for section in sections if section.text]


def _sections_of(name: str) -> Iterator[DocumentationSection]:
    text = text_of(name)
    title, heading = title_of(text), ""
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        is_code ^= bool(_FENCE.match(line))
        match = None if is_code else _HEADING.match(line)
        if match:
            yield _section(name, title, heading, lines)
            heading, lines = match[1].replace("`", ""), []
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


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Show the index of this documentation, or what a search finds in it."""
    query = " ".join(request.GET.get("search", "").split())
    if not query:
        return page(request, INDEX)
    context = {"query": query, "results": search(query)}
    return render(request, "documentation/search.html", context)


@require_GET
def page(request: HttpRequest, name: str) -> HttpResponse:
    """Show a page of this documentation."""
    if name not in pages():
        raise Http404
    context = {"page": render_page(name), "name": name, "is_index": name == INDEX}
    return render(request, "documentation/page.html", context)


@require_GET
def source(request: HttpRequest, name: str) -> HttpResponse:
    """Show the source text of a page, for programs."""
    if name not in pages():
        raise Http404
    return HttpResponse(text_of(name), content_type="text/markdown; charset=utf-8")


@require_GET
@cache_control(public=True, max_age=3600)
def file(request: HttpRequest, path: str) -> FileResponse:
    """Send a picture or an example of the documentation."""
    if path not in files():
        raise Http404
    target = files()[path]
    return FileResponse(target.open("rb"), content_type=TYPES[target.suffix])


@require_GET
def llms(request: HttpRequest) -> HttpResponse:
    """Show an index of the documentation for language models (llmstxt.org)."""
    return HttpResponse(
        index_for_programs(request.build_absolute_uri), content_type="text/plain; charset=utf-8"
    )


@require_GET
def llms_full(request: HttpRequest) -> HttpResponse:
    """Show the whole documentation as one text, for language models."""
    return HttpResponse(whole_text(), content_type="text/plain; charset=utf-8")
