"""Tests of extras, and what they add to tables of other tests."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import extras


def access() -> list[ModuleType]:
    """Who may open the pages of extras: `access.py` among the tests of each that has pages.

    `FOR_VIEWERS` and `NOT_HERE` are as in `tests/config/test_access.py`, `things` are those of a
    study by the beginnings of their addresses, and `NEEDS_DATA` matches views whose buttons need
    more than a study with items, a run and an answer.
    """
    folder = Path(__file__).parent
    return [
        import_module(f"{__name__}.{name}.access")
        for name in extras.NAMES
        if (folder / name / "access.py").exists()
    ]
