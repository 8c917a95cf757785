"""Generated inputs are the same in every run, and take the time that they take."""

import pytest
from hypothesis import settings


def pytest_configure(config: pytest.Config) -> None:
    examples = 100 if config.getoption("--all") else 20
    settings.register_profile("statistics", derandomize=True, deadline=None, max_examples=examples)
    settings.load_profile("statistics")
