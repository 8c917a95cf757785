"""Markdown as safe HTML, of researchers' texts and of responses, and criteria for responses."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


_TAGS = set(
    "a blockquote br code em h2 h3 h4 hr li ol p pre strong table tbody td th thead tr ul".split()
)
_ATTRIBUTES = {"a": {"href"}, "ol": {"start"}}
_LONGEST_ADDRESS = 120


@lru_cache(maxsize=100)
def render_markdown(text: str) -> SafeString:
    """`text` as HTML; `# heading` becomes second-level, because the page has its own."""
    html = _parser().render(text).replace("<h1>", "<h2>").replace("</h1>", "</h2>")
    clean = _clean(
        html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"http", "https", "mailto"}
    )
    return mark_safe(clean)  # noqa: S308  just sanitised


def _clean(html: str, **allowed: Any) -> str:
    # Compiled, and absent where `thirdperson check` runs in a browser.
    import nh3

    return nh3.clean(html, **allowed)


# Three people see each response, and each process of the web server keeps what it has rendered:
# about 4 MB for responses of ordinary length.
@lru_cache(maxsize=2_000)
def render_response(text: str) -> SafeString:
    """A response as HTML that leads nowhere: no links, no pictures, no headings of the page.

    Addresses stand behind their words. A line of the text stays a line.
    """
    clean = _clean(_response_parser().render(text), tags=_TAGS | {"s"} - {"a"}, attributes={})
    return mark_safe(clean)  # noqa: S308  just sanitised


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # Here, because commands that show no text need none.

    return MarkdownIt("commonmark", {"html": False}).enable("table")


@cache
def _response_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    for name, rule in (
        ("heading_open", lambda *_: "<p><strong>"),
        ("heading_close", lambda *_: "</strong></p>"),
        ("link_open", lambda *_: ""),
        ("link_close", _link_close),
        ("image", _image),
    ):
        parser.add_render_rule(name, rule)
    return parser


def _link_close(_: Any, tokens: "Sequence[Token]", at: int, *__: Any) -> str:
    opening = next(token for token in reversed(tokens[:at]) if token.type == "link_open")
    return "" if opening.info == "auto" else f" ({_address(opening, 'href')})"


def _image(_: Any, tokens: "Sequence[Token]", at: int, *__: Any) -> str:
    return f"{escape(tokens[at].content)} ({_address(tokens[at], 'src')})"


def _address(token: "Token", name: str) -> str:
    address = str(token.attrGet(name) or "")
    is_long = len(address) > _LONGEST_ADDRESS
    return escape(f"{address[:_LONGEST_ADDRESS]}…" if is_long else address)


MOST = 12
LONGEST_NAME, LONGEST_DESCRIPTION = 60, 300
_TOO_MANY = f"A study has at most {MOST} criteria."
_NO_TABLE = 'Criterion {n}: write a table, for example {{name = "Clarity", description = "…"}}.'
_NO_NAME = "Criterion {n} has no name. Begin with a name that has letters or digits."
_NAME = "Criterion {n}: use a name of up to {most} characters without brackets and colons."
_DESCRIPTION = "Criterion {n}: use a description of up to {most} characters on one line."
_TWICE = "There are two criteria “{name}”. Use each name once."

CriterionList = list[dict[str, str]]


def read_criteria(rows: Any) -> CriterionList:
    """Criteria as a study stores them, from a list of tables. Raises `ValidationError`."""
    if not isinstance(rows, list) or len(rows) > MOST:
        raise ValidationError(_TOO_MANY)
    criteria: CriterionList = []
    for n, row in enumerate(rows, start=1):
        criterion = _criterion(n, row)
        if any(_alike(criterion, other) for other in criteria):
            raise ValidationError(_TWICE.format(name=criterion["name"]))
        criteria.append(criterion)
    return criteria


def _criterion(n: int, row: Any) -> dict[str, str]:
    if not isinstance(row, Mapping) or not set(row) <= {"key", "name", "description"}:
        raise ValidationError(_NO_TABLE.format(n=n))
    if not all(isinstance(value, str) for value in row.values()):
        raise ValidationError(_NO_TABLE.format(n=n))
    name = " ".join(row.get("name", "").split())
    description = row.get("description", "").strip()
    key = row.get("key") or slugify(name, allow_unicode=True)
    if not name or not key:
        raise ValidationError(_NO_NAME.format(n=n))
    if len(name) > LONGEST_NAME or set(name) & set("[]{}:"):
        raise ValidationError(_NAME.format(n=n, most=LONGEST_NAME))
    if len(description) > LONGEST_DESCRIPTION or len(description.splitlines()) > 1:
        raise ValidationError(_DESCRIPTION.format(n=n, most=LONGEST_DESCRIPTION))
    return {"key": key, "name": name, "description": description}


def _alike(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return one["key"] == other["key"] or one["name"].casefold() == other["name"].casefold()


def from_lines(text: str) -> CriterionList:
    """Criteria from lines “Name: description”. Raises `ValidationError`."""
    rows = [line.partition(":") for line in text.splitlines() if line.strip()]
    return read_criteria([{"name": name, "description": after} for name, _, after in rows])


def as_lines(criteria: Sequence[Mapping[str, str]]) -> str:
    """Criteria as `from_lines` reads them."""
    return "\n".join(_lines(criteria))


def _lines(criteria: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for criterion in criteria:
        yield (
            f"{criterion['name']}: {criterion['description']}"
            if criterion["description"]
            else criterion["name"]
        )
