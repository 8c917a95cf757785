import ast
import doctest
import inspect
from pathlib import Path

import pytest

import analysis.stats

METHODS = Path(__file__).parents[3] / "docs" / "methods.md"


def test_every_example_of_the_methods_page_gives_what_it_shows():
    result = doctest.testfile(str(METHODS), module_relative=False)

    assert result.attempted > 20
    assert result.failed == 0


def test_every_public_name_exists_once_and_in_order():
    names = analysis.stats.__all__

    assert len(names) == len(set(names))
    assert all(hasattr(analysis.stats, name) for name in names)


@pytest.mark.parametrize(
    "name", [n for n in analysis.stats.__all__ if inspect.isfunction(getattr(analysis.stats, n))]
)
def test_every_public_function_has_an_example_and_takes_randomness_from_its_caller(name):
    function = getattr(analysis.stats, name)

    assert ">>> " in inspect.getdoc(function)
    source = ast.parse(inspect.getsource(inspect.getmodule(function)))
    calls = {ast.unparse(node.func) for node in ast.walk(source) if isinstance(node, ast.Call)}
    assert not {call for call in calls if call.startswith("np.random.") or "default_rng" in call}
