"""Pages of `docs/reference/`, made from the code: `python -m config.documentation.reference`.

They describe the core; each extra has its own `docs/`.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from studies.pages.addressed import form_views, progress_view, viewed

NOTE = "`make docs` generates this page from the code; changes to it are lost."
_APPS = ("annotation", "api", "analysis", "config", "judging", "studies")


def pages() -> dict[str, str]:
    """The text of every page by its name."""
    return {"addresses": _addresses(), "report": _report(), "statistics": _statistics()}


# Addresses


def views() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every address of the product's own pages with its view, sorted by address."""
    return iter(sorted(_views(get_resolver().url_patterns, ""), key=lambda row: row[0]))


def _views(
    patterns: list[URLPattern | URLResolver], start: str
) -> Iterator[tuple[str, Callable[..., Any]]]:
    for pattern in patterns:
        address = start + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _views(pattern.url_patterns, address)
        elif inspect.unwrap(pattern.callback).__module__.split(".")[0] in _APPS:
            view = viewed(pattern.callback)
            yield address, getattr(view, "view_class", view)
            yield from (
                (f"{address} action={action}", form)
                for action, form in form_views(pattern.callback).items()
            )
            if progress := progress_view(pattern.callback):
                yield f"{address}?progress", progress


def _addresses() -> str:
    lines = ["# Addresses", "", NOTE, "", "| address | what it does |", "| --- | --- |"]
    for address, view in views():
        path = re.sub(r"<\w+:(\w+)>", r"<\1>", address)
        lines.append(f"| `/{path}` | {first_sentence(view)} |")
    lines += ["", "Addresses of the API are in [API](../api.md)."]
    return "\n".join(lines) + "\n"


# Keys of report.json

FILE = Path(__file__).resolve().parents[2] / "analysis" / "report" / "keys.txt"


@dataclass(frozen=True)
class Described:
    """A key with the type and meaning of its values; `chapter` is the heading above it.

    A line of `keys.txt`, or of the `keys` of an extra's section, has name, type and meaning. A name
    can start with the keys above it, if it has another meaning elsewhere, and `*` is a name that
    depends on the study.
    """

    name: str
    kind: str
    meaning: str
    chapter: str

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))


def parse(text: str, chapter: str = "") -> Iterator[Described]:
    """The keys described by lines; a line that starts with # is a chapter heading."""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("#"):
            chapter = line.lstrip("# ")
        else:
            name, kind, meaning = (part.strip() for part in line.split("|"))
            yield Described(name, kind, meaning, chapter)


@cache
def described() -> tuple[Described, ...]:
    """Every key of the core's sections, in file order."""
    return tuple(parse(FILE.read_text("utf-8")))


# Keys with these ends need no line of their own.
ENDINGS = {
    "_reason": Described("…_reason", "text", "Why the value of that name is null.", ""),
    "_made": Described("…_made", "object", "How the interval of that name was made.", ""),
    "_ci": Described("…_ci", "interval", "The 95 % interval: lower and upper end.", ""),
}


def _report() -> str:
    lines = ["# Keys of report.json", "", NOTE, "", *_ABOUT_KEYS, ""]
    lines += ["| key | type | meaning |", "| --- | --- | --- |"]
    lines += [_key(entry) for entry in ENDINGS.values()]
    chapter = ""
    for entry in report_keys():
        if entry.chapter != chapter:
            chapter = entry.chapter
            heading = f"{chapter[0].upper()}{chapter[1:]}"
            lines += ["", f"## {heading}", "", "| key | type | meaning |", "| --- | --- | --- |"]
        lines.append(_key(entry))
    return "\n".join(lines) + "\n"


_ABOUT_KEYS = (
    "`report.json` holds every number of a [report](../reports.md) at full precision. A key has",
    "the same meaning wherever it occurs, unless a line names keys above it: `judges.items` is",
    "inside `judges`, at any depth. `*` is a name that depends on the study. Shares are from 0 to",
    "1, and differences are differences of shares. Certainties are from 1 to 100. An interval is a",
    "list of its lower and upper end. What is undefined is `null`, and a key that does not apply",
    "to a study is left out. New keys may be added; a key changes its meaning only with `schema`.",
)


def report_keys() -> Iterator[Described]:
    """Every described key of a report: the product's keys, then those of sections."""
    from analysis.report.build import sections

    yield from described()
    for section in sections():
        if not type(section).__module__.startswith("extras."):
            yield from parse(section.keys, chapter=section.title)


def _key(entry: Described) -> str:
    return f"| `{entry.name}` | {entry.kind} | {entry.meaning} |"


# Statistics


def _statistics() -> str:
    import analysis.stats as stats

    lines = ["# Statistics", "", NOTE, ""]
    lines += ["`from thirdperson import stats` offers these functions and classes on arrays."]
    lines += ["`help(stats.NAME)` shows shapes, units, errors, sources and examples."]
    lines += ["[Methods](../methods.md) explains and derives.", ""]
    by_folder: dict[str, list[str]] = {}
    for name in sorted(stats.__all__, key=str.lower):
        statistic = getattr(stats, name)
        # A type alias has the module of `typing`.
        module = getattr(statistic, "__module__", "").split(".")
        folder = module[2] if module[:2] == ["analysis", "stats"] and len(module) > 3 else "core"
        by_folder.setdefault(folder, []).append(_entry(name, statistic))
    for folder, entries in sorted(by_folder.items()):
        lines += [f"## {folder.capitalize()}", "", "| name | what it is |", "| --- | --- |"]
        lines += [*entries, ""]
    return "\n".join(lines)


def _entry(name: str, statistic: Any) -> str:
    arguments = ""
    if inspect.isfunction(statistic):
        arguments = f"({', '.join(inspect.signature(statistic).parameters)})"
    return f"| `{name}{arguments}` | {first_sentence(statistic)} |"


def first_sentence(thing: Any) -> str:
    """The first sentence of a docstring, on one line and safe in a table."""
    text = inspect.getdoc(inspect.unwrap(thing) if callable(thing) else type(thing)) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.match(r".*?[.](?= |$)", paragraph)
    return (sentence[0] if sentence else paragraph).replace("|", "\\|")


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    django.setup()
    from config.documentation.pages import ROOT

    (ROOT / "reference").mkdir(exist_ok=True)
    for page, content in pages().items():
        (ROOT / "reference" / f"{page}.md").write_text(content, "utf-8")
