"""House rules that a reviewer would otherwise have to repeat."""

import ast
import inspect
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from django.apps import apps
from django.core.management import get_commands
from django.db.models import DateTimeField
from django.urls import URLResolver, get_resolver
from django.views.decorators.http import require_http_methods

from studies.pages.addressed import form_views, viewed
from studies.statements.clock import MomentField

ROOT = Path(__file__).resolve().parent.parent
CORE = ("studies", "annotation", "judging", "analysis", "api")
APPS = (*CORE, "extras")
TEMPLATES = sorted(
    [
        *ROOT.glob("templates/**/*.html"),
        *ROOT.glob("annotation/jinja2/**/*.html"),
        *ROOT.glob("extras/*/templates/**/*.html"),
        *ROOT.glob("extras/*/jinja2/**/*.html"),
    ]
)


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or not shutil.which("git"), reason="not a checkout"
)
def test_the_repository_holds_nothing_that_belongs_to_one_machine():
    """A link to a virtual environment elsewhere once stopped `make` on every other machine."""

    def listed(*options: str) -> list[str]:
        command = ("git", "ls-files", "-z", *options)
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        return [name for name in done.stdout.split("\0") if name]

    assert len(listed()) > 1000
    assert listed("--cached", "--ignored", "--exclude-standard") == []
    assert [entry for entry in listed("--stage") if entry.startswith("120000")] == []


def test_every_setting_read_from_the_environment_is_documented():
    read = set()
    for path in [*(ROOT / "config").rglob("*.py"), *(ROOT / "extras").rglob("settings.py")]:
        text = path.read_text(encoding="utf-8")
        read |= set(re.findall(r'\benv(?:\.\w+)?\(\s*"([A-Z_]+)"', text))
        read |= set(re.findall(r'environ\.get\("([A-Z_]+)"', text))
    pages = [ROOT / "docs/configuration.md", *(ROOT / "extras").glob("*/docs/*.md")]
    documented = "".join(page.read_text(encoding="utf-8") for page in pages)

    assert len(read) > 10
    assert [name for name in sorted(read) if f"`{name}`" not in documented] == []


def test_moments_are_those_of_the_database():
    """The clocks of two machines differ: what one wrote by its own, another compared by its own."""
    own = re.compile(r"timezone\.now\(|datetime\.now\(|Now\(\)")
    folders = [path for app in (*APPS, "config") for path in (ROOT / app).rglob("*.py")]

    found = {str(path.relative_to(ROOT)) for path in folders if own.search(path.read_text("utf-8"))}

    assert found == {"studies/statements/clock.py", "studies/network.py"}


def test_fields_that_begin_with_the_moment_take_it_from_the_database():
    fields = [field for model in apps.get_models() for field in model._meta.local_fields]
    begins = [
        field
        for field in fields
        if isinstance(field, DateTimeField)
        and field.model.__module__.split(".")[0] in APPS
        and (field.auto_now_add or field.auto_now or field.has_default())
    ]

    assert len(begins) > 50
    assert [str(field) for field in begins if not isinstance(field, MomentField)] == []


def test_every_command_is_documented():
    own = (*APPS, "config", "extras")
    commands = [name for name, app in get_commands().items() if app.split(".")[0] in own]
    documented = (ROOT / "docs/commands.md").read_text(encoding="utf-8")

    assert len(commands) >= 10
    assert [name for name in sorted(commands) if not re.search(rf"`{name}\b", documented)] == []


def of_deleted_extra(row: str) -> bool:
    """Whether it leads to a page of an extra whose folder was deleted."""
    page = re.search(r"\.\./extras/(\w+)/", row)
    return page is not None and not (ROOT / "extras" / page[1]).exists()


def test_every_documented_command_and_setting_exists():
    commands = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_]+)(.*)", commands, re.MULTILINE)
    named = {name for name, rest in rows if not of_deleted_extra(rest)} - {"thirdperson"}
    settings = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+)\|", settings, re.MULTILINE)
    variables = {name for row in rows for name in re.findall(r"`([A-Z][A-Z_]+)`", row)}
    sources = [*APPS, "config", "demo", "thirdperson"]
    lines = "".join(
        path.read_text("utf-8") for app in sources for path in (ROOT / app).rglob("*.py")
    )

    assert len(named) > 15
    assert sorted(named - get_commands().keys()) == []
    assert len(variables) > 20
    assert sorted(name for name in variables if name not in lines) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_hold_no_inline_script_or_style(path):
    """The content security policy would refuse them; the report is a file of its own."""
    text = path.read_text(encoding="utf-8")
    has_own_policy = 'http-equiv="Content-Security-Policy"' in text
    if path.is_relative_to(ROOT / "templates/analysis/report") or has_own_policy:
        return

    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", text)


def test_pages_load_nothing_from_other_hosts():
    for path in [*TEMPLATES, *(ROOT / "static/css").glob("*.css")]:
        text = path.read_text(encoding="utf-8")

        assert not re.search(r"""(src|href)=["'](https?:)?//(?!app\.prolific\.com)""", text), path
        assert "@import" not in text, path


def views(patterns=None) -> Iterator[Callable[..., object]]:
    """Every view function of the site that is ours, with what decorates it."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern.url_patterns)
        elif not hasattr(viewed(pattern.callback), "view_class"):
            if not inspect.unwrap(pattern.callback).__module__.startswith("django."):
                yield pattern.callback


def names_methods(view: Callable[..., object]) -> bool:
    """Whether one of Django's `require_…` is among what decorates a view."""
    if view.__code__.co_filename == require_http_methods.__code__.co_filename:
        return True
    inner = [cell.cell_contents for cell in view.__closure__ or ()]
    return any(names_methods(function) for function in inner if inspect.isfunction(function))


def test_every_view_names_its_methods():
    found = list(views())

    assert len(found) > 80
    for view in [
        *map(viewed, found),
        *(form for page in found for form in form_views(page).values()),
    ]:
        origin = inspect.unwrap(view)
        assert names_methods(view), f"{origin.__module__}.{origin.__name__}"


def test_row_locks_name_their_strength():
    for app in APPS:
        for path in (ROOT / app).rglob("*.py"):
            for call in re.findall(r"select_for_update\([^)]*\)", path.read_text("utf-8")):
                assert "no_key=" in call, f"{path}: {call}"


def test_no_message_names_the_class_of_an_error():
    """A reader cannot do anything with “KeyError”; what failed is said in words."""
    named = [
        str(path.relative_to(ROOT))
        for path in modules()
        if re.search(r"type\((e|err|exc|error|fault)\)\.__name__", path.read_text("utf-8"))
    ]

    assert named == []


def saves_of_state(path: Path) -> Iterator[tuple[str, str]]:
    """Each function that saves the state of a row which it has read: its name and its source."""
    source = path.read_text(encoding="utf-8")
    if "update_fields" not in source:
        return
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        lists = {
            ast.unparse(target): ast.unparse(node.value)
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
        }
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".save"):
                named = [ast.unparse(k.value) for k in call.keywords if k.arg == "update_fields"]
                if any("'state'" in text or "'state'" in lists.get(text, "") for text in named):
                    yield function.name, ast.get_source_segment(source, function) or ""


def test_a_state_is_saved_only_under_a_lock():
    """Elsewhere it changes by a conditional UPDATE, whose count says whether it was in time."""
    found = [
        (path, *save)
        for app in APPS
        for path in (ROOT / app).rglob("*.py")
        for save in saves_of_state(path)
    ]

    assert len(found) >= 4
    for path, name, source in found:
        takes_it = "lock_study(" in source or "select_for_update(" in source
        assert takes_it or "locked" in source, f"{path}: {name} saves a state without a lock"


def test_one_place_writes_csv():
    """Anybody else's writer would let formulas and unquoted line breaks through."""
    writers = [
        str(path.relative_to(ROOT))
        for app in (*APPS, "config")
        for path in (ROOT / app).rglob("*.py")
        if re.search(r"csv\.(Dict)?[wW]riter|\.to_csv\(", path.read_text(encoding="utf-8"))
    ]

    assert writers == ["studies/exporters/tables.py"]


def test_one_place_reads_csv():
    """Limits, encodings, delimiters and line numbers are decided there."""
    readers = [
        str(path.relative_to(ROOT))
        for app in (*APPS, "config")
        for path in (ROOT / app).rglob("*.py")
        if re.search(r"csv\.(Dict)?[rR]eader|read_csv\(.*path", path.read_text(encoding="utf-8"))
    ]

    assert readers == ["studies/importers/files/lines.py"]


def test_no_id_is_made_of_other_characters_than_letters_and_digits():
    """One that begins with a dash is an option on a command line."""
    found = [
        str(path.relative_to(ROOT))
        for app in (*APPS, "demo", "config")
        for path in (ROOT / app).rglob("*.py")
        if "token_urlsafe" in path.read_text(encoding="utf-8")
    ]

    assert found == ["config/env.py"]  # the secret key, which lies in a file


# The glossary: a name in code is the field's noun. A short list, not a judgment of style.
NOT_IN_NAMES = set("anew beside growing making purse said whoever whom worth".split())
NOT_A_MODULE = {"certain", "shared", "sharing"}
NOT_A_CLASS = {"Check", "Place", "Places", "Plan", "Question", "Row", "Rows"}  # of what?


def names_in(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Each name that a module defines, with what it names."""
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            yield node.name.strip("_"), "class"
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, "function"
        elif isinstance(node, ast.arg):
            yield node.arg, "variable"
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, "variable"
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, "variable"


def words_of(name: str) -> set[str]:
    """“who_judgesWhom” as {"who", "judges", "whom"}."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


OWN = {*APPS, "config", "demo", "benchmarks", "thirdperson", "extras", "tests"}


def modules() -> Iterator[Path]:
    for folder in sorted(OWN - {"tests"}):
        for path in (ROOT / folder).rglob("*.py"):
            if "migrations" not in path.parts:
                yield path


class Module(NamedTuple):
    path: Path
    names: set[tuple[str, str]]
    private: list[str]
    messages: list[str]


@cache
def read_modules() -> list[Module]:
    """What the rules below are about: parsing takes longer than they do."""
    read = []
    for path in modules():
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        names = {(path.stem, "module"), *names_in(nodes)}
        read.append(Module(path, names, sorted(private_names(nodes)), list(messages_in(nodes))))
    return read


def test_names_are_words_of_the_glossary():
    named = [(module.path, *name) for module in read_modules() for name in module.names]
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, name, kind in named
        if words_of(name) & NOT_IN_NAMES
        or (kind == "module" and name in NOT_A_MODULE)
        or (kind == "class" and name in NOT_A_CLASS)
    ]

    assert len(named) > 5000
    assert found == []


def test_the_core_names_no_extra():
    """It must not miss one that is deleted; extras add themselves to its lists."""
    of_list = {"config/celery.py", "config/settings/base.py"}
    named = [
        str(path.relative_to(ROOT))
        for folder in (*CORE, "config", "thirdperson")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"""^\s*(from|import) extras\b|["']extras\.""", path.read_text("utf-8"), re.M)
    ]

    assert set(named) - of_list <= {"config/documentation/reference.py"}


# Documented although they begin with an underscore.
DOCUMENTED = {"_meta", "_default_manager", "_base_manager", "_asdict", "_make", "_replace", "_exit"}


def private_names(nodes: list[ast.AST]) -> Iterator[str]:
    """Names with an underscore that a module takes from packages of others."""
    others: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found = [(a.name, a.asname or a.name.partition(".")[0]) for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found = [(f"{node.module}.{a.name}", a.asname or a.name) for a in node.names]
        else:
            continue
        of_others = [(name, known) for name, known in found if name.partition(".")[0] not in OWN]
        others.update(known for _, known in of_others)
        yield from (name for name, _ in of_others if re.search(r"\._(?!_)", name))
    for node in nodes:
        if isinstance(node, ast.Attribute) and re.match(r"_(?!_)", node.attr):
            base = node.value
            while isinstance(base, ast.Attribute | ast.Call | ast.Subscript):
                base = base.func if isinstance(base, ast.Call) else base.value
            if isinstance(base, ast.Name) and base.id in others and node.attr not in DOCUMENTED:
                yield ast.unparse(node)


def test_no_private_name_of_a_package_is_used():
    found = {
        str(module.path.relative_to(ROOT)): module.private
        for module in read_modules()
        if module.private
    }

    assert found == {}


# Phrases for which there are plainer ones; tests/test_documentation.py has those of the docs.
STILTED = re.compile(
    r"\b(anew|beside|how-manieth|is had|signs of life|sweepers?|take[ns]? up|told apart|wanted were"
    r"|whoever|tells? of|told of)\b",
    re.IGNORECASE,
)
MARKUP = re.compile(r"{%.*?%}|{{.*?}}|{#.*?#}|<[^>]*>", re.DOTALL)


def messages_in(nodes: list[ast.AST]) -> Iterator[str]:
    """The texts of a module that are not docstrings, with more than one word."""
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in alone and " " in node.value:
                yield node.value


def test_pages_replace_words_that_only_experts_know():
    """Names of statistics are explained in the report (`report_words.MEANINGS`)."""
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in TEMPLATES
        if "report" not in path.parts
        for word in re.findall(
            r"\b(?:surplus|AURC|AUROC)\b|Holm(?!’s method)",
            MARKUP.sub(" ", path.read_text(encoding="utf-8")),
            re.IGNORECASE,
        )
    ]

    assert found == []


def test_no_test_of_generated_inputs_has_a_deadline():
    """The profile in `tests/sampling.py` has none, for every test."""
    tests = set((ROOT / "tests").rglob("*.py")) - {Path(__file__).resolve()}
    of_hypothesis = [path for path in tests if "hypothesis import" in path.read_text()]
    assert [p.name for p in of_hypothesis if "deadline=" in p.read_text()] == ["sampling.py"]


def test_pages_and_messages_use_plain_words():
    texts = [(module.path, text) for module in read_modules() for text in module.messages]
    texts += [(path, MARKUP.sub(" ", path.read_text(encoding="utf-8"))) for path in TEMPLATES]

    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path, text in texts
        for match in STILTED.finditer(text)
    ]

    assert len(texts) > 1000
    assert found == []
