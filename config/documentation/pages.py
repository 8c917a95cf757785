"""The pages of `docs/` and of extras, by name."""

import re
from functools import cache
from pathlib import Path

from django.conf import settings

INDEX = "README"
ROOT: Path = settings.BASE_DIR / "docs"


@cache
def pages() -> dict[str, Path]:
    """Every page by its name, such as `judges` or `extending/backend`."""
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for folder in folders()
        for path in sorted(folder.rglob("*.md"))
    }


def folders() -> list[Path]:
    """The folders of pages and of their pictures and examples."""
    return [ROOT, *sorted(settings.BASE_DIR.glob("extras/*/docs"))]


def text_of(name: str) -> str:
    return pages()[name].read_text("utf-8")


def title_of(text: str) -> str:
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    return title[1].replace("`", "") if title else ""


def whole_text() -> str:
    """All pages as one text for programs, each after a line with its name."""
    names = [INDEX, *(name for name in pages() if name != INDEX)]
    return "\n".join(f"<!-- docs/{name}.md -->\n\n{text_of(name)}" for name in names)
