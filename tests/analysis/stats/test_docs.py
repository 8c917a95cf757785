import ast
import doctest
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import analysis.stats
from analysis.stats import Reason

METHODS = Path(__file__).parents[3] / "docs" / "methods.md"
STATISTICS = sorted(METHODS.with_suffix("").glob("*.md"))
WORDS = "\n".join(page.read_text("utf-8") for page in (METHODS, *STATISTICS))


@pytest.fixture(scope="module")
def conventions():
    """What the examples of every page go on from."""
    text = METHODS.read_text("utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, METHODS.name, str(METHODS), 0)
    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
    return test.globs


@pytest.mark.parametrize("page", STATISTICS, ids=lambda page: page.name)
def test_every_example_of_the_methods_gives_what_it_shows(page, conventions):
    result = doctest.testfile(str(page), module_relative=False, globs=conventions)

    assert result.attempted > 5
    assert result.failed == 0


def test_the_index_of_methods_names_every_statistic():
    index = METHODS.read_text("utf-8")

    assert len(STATISTICS) > 5
    for page in STATISTICS:
        headings = re.findall(r"^##+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
        assert [one for one in headings if f"[{one}](methods/{page.name}#" not in index] == []


def test_every_public_name_exists_once_and_in_order():
    names = analysis.stats.__all__

    assert len(names) == len(set(names))
    assert all(hasattr(analysis.stats, name) for name in names)


FUNCTIONS = [n for n in analysis.stats.__all__ if inspect.isfunction(getattr(analysis.stats, n))]


def test_the_methods_pages_use_every_public_function_in_an_example():
    lines = WORDS.splitlines()
    examples = "\n".join(line for line in lines if line.startswith((">>>", "...")))

    assert not set(FUNCTIONS) - set(re.findall(r"\w+", examples))


def test_the_methods_pages_name_every_reason():
    assert not [reason for reason in get_args(Reason) if f"`{reason}`" not in WORDS]


def test_the_package_works_without_django_and_its_settings():
    program = (
        "import sys, analysis.stats; "
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'django', 'config'}))"
    )
    environment = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=METHODS.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_has_an_example_and_takes_randomness_from_its_caller(name):
    function = getattr(analysis.stats, name)

    assert ">>> " in inspect.getdoc(function)
    source = ast.parse(inspect.getsource(inspect.getmodule(function)))
    calls = {ast.unparse(node.func) for node in ast.walk(source) if isinstance(node, ast.Call)}
    assert not {call for call in calls if call.startswith("np.random.") or "default_rng" in call}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_describes_what_it_takes_and_returns(name):
    text = inspect.getdoc(getattr(analysis.stats, name))

    assert "Parameters\n-----" in text
    assert "Returns\n-----" in text
