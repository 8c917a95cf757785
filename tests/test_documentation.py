"""Documentation leads somewhere: links, headings, folders and images that it names exist."""

import re
import shlex
from argparse import ArgumentParser, _SubParsersAction
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from judging.protocols.registry import PROTOCOLS
from studies.extra import Extra, extras
from thirdperson.check.command import parser as check_parser

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("extras/*/docs/**/*.md")]
)


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#{1,6} (.+)$", page.read_text("utf-8"), re.MULTILINE)
    plain = (re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in plain}


def broken_links(page: Path) -> Iterator[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not is_deleted(other) and (
            not other.exists() or (anchor and anchor not in anchors(other))
        ):
            yield target


def is_deleted(path: Path) -> bool:
    """Whether it belongs to an extra whose folder was deleted."""
    inside = path.relative_to(ROOT).parts if path.is_relative_to(ROOT) else ()
    return len(inside) > 2 and inside[0] == "extras" and not (ROOT / "extras" / inside[1]).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page):
    assert list(broken_links(page)) == []


APPS = {"studies", "annotation", "judging", "analysis", "api", "config", "extras"}


def options_of(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for inner in action.choices.values():
                yield from options_of(inner)
        yield from (option for option in action.option_strings if option.startswith("--"))


def parsers() -> Iterator[tuple[str, ArgumentParser]]:
    """The project's own commands."""
    for name, app in sorted(get_commands().items()):
        if app.split(".")[0] in APPS:
            yield name, load_command_class(app, name).create_parser("", name)


def test_every_option_of_a_command_is_described():
    text = "".join(page.read_text("utf-8") for page in PAGES)
    of_django = set(options_of(load_command_class("django.core", "migrate").create_parser("", "")))
    missing = [
        f"{name} {option}"
        for name, parser in parsers()
        for option in options_of(parser)
        if option not in of_django and not re.search(rf"{option}\b", text)
    ]

    assert missing == []


# Without --inline, these wait for the workers.
ALWAYS_WAIT = {"label", "recheck", "reproduce"}


def other_words(name: str, parser: ArgumentParser) -> Iterator[str]:
    options = set(options_of(parser))
    places = [action.dest for action in parser._actions if not action.option_strings]
    if "--slug" in options or {"study", "slug"} <= set(places):
        yield "a study that is created is --new SLUG"
    if "--estimate" in options:
        yield "showing the cost first is --dry-run"
    if "run" in places:
        yield "a run is --run ID"
    if "--study" in options and not places:
        yield "the study comes first, without an option"
    if "--inline" in options and "--wait" not in options and name not in ALWAYS_WAIT:
        yield "what needs a worker has --wait and --inline"


def test_commands_say_one_thing_one_way():
    found = [f"{name}: {each}" for name, parser in parsers() for each in other_words(name, parser)]

    assert found == []


# Words that CONTRIBUTING.md asks to avoid; not a judgment of style.
AVOIDED = re.compile(
    r"\b(anew|beside|whoever|signs of life|sweepers?|since then|wanted were|the word that"
    r"|how-manieth|is had|told apart|tells? of|rests? on|let(?:s|ting)? in)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_plain_words(page):
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.M | re.S)

    assert sorted(set(AVOIDED.findall(text))) == []


def test_every_folder_that_the_architecture_page_names_exists():
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    folders = "studies|annotation|judging|analysis|api|demo|config|thirdperson|deploy|benchmarks"
    named = set(re.findall(rf"`((?:{folders})/[\w/.]*)`", page))

    assert len(named) > 70
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_the_architecture_page_lists_every_kind_and_every_extra():
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (\w+)", page, re.MULTILINE))
    groups = {name: extra.group for name, extra in extras().items()}
    kinds = [
        field.name
        for field in fields(Extra)
        if field.default is not MISSING and field.name != "former"
    ]

    assert len(kinds) > 15
    assert [kind for kind in kinds if kind not in rows] == []
    assert {name: rows.get(name) for name in groups} == groups


def test_every_test_that_a_page_names_exists():
    named = {
        found
        for page in PAGES
        for found in re.findall(r"(tests/[\w/]+\.py)::(\w+)", page.read_text("utf-8"))
    }
    missing = [
        f"{path}::{test}"
        for path, test in sorted(named)
        if not is_deleted(ROOT / path.removeprefix("tests/"))
        and f"def {test}(" not in (ROOT / path).read_text("utf-8")
    ]

    assert len(named) > 50
    assert missing == []


def test_the_index_of_extending_names_every_page():
    index = (ROOT / "docs/extending/README.md").read_text("utf-8")
    pages = {page.name for page in (ROOT / "docs/extending").glob("*.md")} - {"README.md"}

    assert sorted(name for name in pages if f"({name})" not in index) == []


# Words of the table's commands that belong to an extra.
OF_EXTRAS = {
    "replicate": "replication",
    "certify": "certificates",
    "reference": "judges_compared",
    "arena": "arena",
    "--grades": "graded",
    "right-wrong": "graded",
    "--tiers": "judges_compared",
    "improve_judge": "improving",
    **dict.fromkeys(("personafeedback", "daily_dilemmas", "mena", "self_preference"), "datasets"),
}


def systems() -> list[list[str]]:
    """The rows of the table of published systems."""
    lines = (ROOT / "docs" / "systems.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in rows if len(row) == 6 and row[3].startswith("`")]


_NUMBERS = "none one two three four five six seven eight nine ten eleven twelve thirteen".split()


def test_the_table_of_published_systems_has_sixteen_whole_rows():
    rows = systems()
    assert len({row[0] for row in rows}) == len(rows) == 16
    assert all(all(row) for row in rows)
    states = Counter(re.split(r"[^a-z]", row[5])[0] for row in rows)
    text = (ROOT / "docs" / "systems.md").read_text("utf-8")
    assert {*states} <= {"counting", "whole", "partly", "not"}
    whole = states["counting"] + states["whole"]
    assert f"**Whole** are {_NUMBERS[whole]}:" in text
    partly, missing = _NUMBERS[states["partly"]].capitalize(), _NUMBERS[states["not"]]
    assert f"{partly} are there in part, {missing} are not" in text


@pytest.mark.parametrize("row", systems(), ids=lambda row: row[0])
def test_the_commands_of_published_systems_exist_with_their_options(row):
    name, *words = shlex.split(row[3].strip("`"))
    needed = {OF_EXTRAS[word] for word in (name, *words) if word in OF_EXTRAS}
    if any(not (ROOT / "extras" / extra).exists() for extra in needed):
        pytest.skip("its extra was deleted")
    if name == "thirdperson":
        assert words[0] == "check"
        check_parser().parse_args(words[1:])
        return
    command = load_command_class(get_commands()[name], name)
    parsed = command.create_parser("manage.py", name).parse_args(words)
    if setting := getattr(parsed, "setting", None):
        assert setting in {each.name for each in PROTOCOLS}
    if name == "report":  # --json alone is refused
        assert parsed.sentences or not parsed.json
