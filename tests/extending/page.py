"""The code blocks of a page of docs/extending/."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs/extending"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str, language: str) -> list[str]:
    """The blocks of a language in their order; those without a language have the name ""."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [code for name, code in _BLOCK.findall(text) if name == language]


def modules(page: str) -> dict[str, str]:
    """The Python blocks of a page by the path that their first line names."""
    found = {}
    for code in blocks(page, "python"):
        first, _, rest = code.partition("\n")
        found[first.removeprefix("# ")] = rest
    return found
