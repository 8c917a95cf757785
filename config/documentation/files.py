"""The files below `docs/`, here and in each extra: which exist, and what each is called."""

import re
from functools import cache
from pathlib import Path

from django.conf import settings

INDEX = "README"
ROOT: Path = settings.BASE_DIR / "docs"
# What pages show or offer besides text.
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
def pages() -> dict[str, Path]:
    """Every page by its name, such as `judges` or `extending/backend`."""
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for folder in _folders()
        for path in sorted(folder.rglob("*.md"))
    }


@cache
def files() -> dict[str, Path]:
    """Pictures and examples, by their path below `docs/`."""
    return {
        path.relative_to(folder).as_posix(): path
        for folder in _folders()
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES
    }


def _folders() -> list[Path]:
    return [ROOT, *sorted(settings.BASE_DIR.glob("extras/*/docs"))]


def text_of(name: str) -> str:
    """The text of a page; the index also lists the pages of extras."""
    text = pages()[name].read_text("utf-8")
    return text + _of_extras() if name == INDEX else text


def _of_extras() -> str:
    """Links to the pages of extras; the core's pages name none of them."""
    paths = [path for path in pages().values() if ROOT not in path.parents]
    links = [
        f"- [{title_of(path.read_text('utf-8'))}](../{path.relative_to(settings.BASE_DIR)})"
        for path in paths
    ]
    return "\n".join(["\n## Extras\n", *links]) + "\n" if links else ""


def title_of(text: str) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1].replace("`", "") if found else ""
