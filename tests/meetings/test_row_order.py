"""The same data in another order of rows are the same study: no number and no verdict changes."""

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.judging.conftest import engine, llm  # noqa: F401
from tests.meetings import whole_way
from tests.meetings.building import Building
from tests.meetings.covering import Row
from tests.meetings.rows import cases

PARTS = ("human", "judges", "comparison", "headline")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("row", cases(metafunc.config, few=1, among=_is_all_files))


def _is_all_files(row: Row) -> bool:
    return row["entry"] == "file" and row["answers"] != "none"


@pytest.mark.nightly
def test_the_order_of_rows_changes_nothing(row, llm, engine, tmp_path, settings):  # noqa: F811
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    results = []
    for slug, turned in (("meeting", False), ("turned", True)):
        study = Building(row, llm, tmp_path, slug=slug, turned=turned).build()
        results.append(whole_way.built(study).result)

    first, second = (dict(_values({part: result[part] for part in PARTS})) for result in results)

    assert [p for p in first | second if not _alike(first.get(p), second.get(p))] == []


def _alike(one: Any, other: Any) -> bool:
    """Sums of the same numbers in another order differ in their last digits."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


def _values(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a report with its place; hash and record of a run name its study too."""
    if isinstance(node, dict | list):
        children = node.items() if isinstance(node, dict) else enumerate(node)
        for key, child in children:
            if key not in ("run", "record"):
                yield from _values(child, f"{path}.{key}")
    else:
        # Runs that are named alike are told apart by the beginning of a hash of what they asked.
        yield path, re.sub(r"\([0-9a-f]{6}\)", "", node) if isinstance(node, str) else node
