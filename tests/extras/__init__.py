"""Tests of extras, and what they add to tables of other tests."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import extras


def access() -> list[ModuleType]:
    """Who may open the pages of extras: `access.py` among the tests of each that has pages.

    `FOR_VIEWERS`, `FOR_OWNERS`, `NOT_HERE`, `MAY_CREATE`, `NAMED` and `KEPT_WHEN_READ` are as in
    `tests/config/test_access.py`; `OTHERS` are addresses of those who are signed in, outside any
    study, and `OPEN` the beginnings of those that ask for no account; and `things`
    are those of a study by the beginnings of their addresses; `known` are values of other
    parameters. `ROUTES` are operations of the API as in `tests/api/test_roles.py`, of which
    `ROUTES_NEED_DATA` are refused in a study with so little. `NEEDS_DATA` matches views whose
    buttons need more than a study with items, a run and an answer, and `LEFT_OUT` gives reasons
    for others. What a module does not say is empty.
    """
    folder, found = Path(__file__).parent, []
    for name in extras.NAMES:
        if (folder / name / "access.py").exists():
            module = import_module(f"{__name__}.{name}.access")
            for table in (
                "FOR_VIEWERS",
                "FOR_OWNERS",
                "NOT_HERE",
                "MAY_CREATE",
                "OTHERS",
                "OPEN",
                "KEPT_WHEN_READ",
                "NAMED",
            ):
                vars(module).setdefault(table, set())
            for function in ("things", "known"):
                vars(module).setdefault(function, lambda study: {})
            vars(module).setdefault("NEEDS_DATA", "")
            vars(module).setdefault("LEFT_OUT", {})
            vars(module).setdefault("ROUTES", {})
            vars(module).setdefault("ROUTES_NEED_DATA", set())
            found.append(module)
    return found
