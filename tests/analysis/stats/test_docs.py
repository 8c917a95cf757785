import ast
import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import analysis.stats
from analysis.stats import Reason

ROOT = Path(__file__).parents[3]
METHODS = ROOT / "docs" / "methods.md"
# What simulations found has no examples.
STATISTICS = sorted(
    {*METHODS.with_suffix("").glob("*.md")} - {METHODS.with_suffix("") / "checks.md"}
)
OF_EXTRAS = [
    page for page in sorted(ROOT.glob("extras/*/docs/**/*.md")) if ">>> " in page.read_text("utf-8")
]
PAGES = [*STATISTICS, *OF_EXTRAS]
WORDS = "\n".join(page.read_text("utf-8") for page in (METHODS, *PAGES))
PACKAGES = [
    analysis.stats,
    *(
        import_module(f"extras.{path.parents[1].name}.stats")
        for path in sorted(ROOT.glob("extras/*/stats/__init__.py"))
    ),
]


@pytest.fixture(scope="module")
def conventions():
    """What the examples of every page go on from."""
    text = METHODS.read_text("utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, METHODS.name, str(METHODS), 0)
    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
    of_extras = {name: getattr(each, name) for each in PACKAGES[1:] for name in each.__all__}
    return {**of_extras, **test.globs}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_of_the_methods_gives_what_it_shows(page, conventions):
    result = doctest.testfile(str(page), module_relative=False, globs=conventions)

    assert result.attempted > 3
    assert result.failed == 0


def test_the_index_of_methods_names_every_statistic():
    index = METHODS.read_text("utf-8")

    assert len(STATISTICS) > 5
    for page in STATISTICS:
        headings = re.findall(r"^##+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
        assert [one for one in headings if f"[{one}](methods/{page.name}#" not in index] == []


def test_every_public_name_exists_once_and_in_order():
    names = [name for package in PACKAGES for name in package.__all__]

    assert len(names) == len(set(names))
    assert all(hasattr(package, name) for package in PACKAGES for name in package.__all__)


FUNCTIONS = {
    name: getattr(package, name)
    for package in PACKAGES
    for name in package.__all__
    if inspect.isfunction(getattr(package, name))
}


def test_the_methods_pages_use_every_public_function_in_an_example():
    lines = WORDS.splitlines()
    examples = "\n".join(line for line in lines if line.startswith((">>>", "...")))

    assert not FUNCTIONS.keys() - set(re.findall(r"\w+", examples))


def test_the_methods_pages_name_every_reason():
    assert not [reason for reason in get_args(Reason) if f"`{reason}`" not in WORDS]


def test_every_public_function_has_an_example_and_takes_randomness_from_its_caller():
    for name, function in FUNCTIONS.items():
        text = inspect.getdoc(function)
        assert all(words in text for words in (">>> ", "Parameters\n-----", "Returns\n-----")), name
    for module in {inspect.getmodule(function) for function in FUNCTIONS.values()}:
        tree = ast.parse(inspect.getsource(module))
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        own = {call for call in calls if call.startswith("np.random.") or "default_rng" in call}
        assert not own, module.__name__
