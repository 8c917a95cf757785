"""The examples of the page and of the statistics give what they show."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import analysis.stats
from extras.planning.stats import (
    confidence_sequence,
    power,
    simulated_studies,
    variance_components,
    verdicts,
)

MODULES = (confidence_sequence, power, simulated_studies, variance_components, verdicts)
PAGE = Path(import_module("extras.planning").__file__).parent / "docs/planning.md"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_example_of_a_statistic_gives_what_it_shows(module):
    result = doctest.testmod(module)

    assert result.attempted
    assert result.failed == 0


def test_every_example_of_the_page_gives_what_it_shows():
    known = {name: getattr(analysis.stats, name) for name in analysis.stats.__all__}
    for module in MODULES:
        known |= vars(module)

    result = doctest.testfile(str(PAGE), module_relative=False, globs=known)

    assert result.attempted > 5
    assert result.failed == 0
