"""The files below `docs/`: which exist, and what each is called."""

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
def page_names() -> frozenset[str]:
    """Names of all pages, such as `judges` or `extending/backend`."""
    return frozenset(
        path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.rglob("*.md")
    )


@cache
def file_names() -> frozenset[str]:
    """Pictures and examples, by their path below `docs/`."""
    files = (path for path in ROOT.rglob("*") if path.suffix in TYPES)
    return frozenset(path.relative_to(ROOT).as_posix() for path in files)


def text_of(name: str) -> str:
    return (ROOT / f"{name}.md").read_text("utf-8")


def title_of(text: str) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1].replace("`", "") if found else ""
