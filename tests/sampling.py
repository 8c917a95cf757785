"""Which cases of a large matrix run by default: a few, the same at every commit.

`@pytest.mark.sampled(keep=5)` on a parametrized test keeps five of its cases; on tests without
parameters, `keep` counts the tests of the file, or those with the same `group`, which must be in
one file, because parts of `make test` do not know of each other:
`@pytest.mark.sampled(keep=1, group="programs")`. A hash of their names chooses them, so that a new
case moves few others. A test marked `nightly` does not run by default.

`--one-in 5` keeps a fixed fifth of the tests that use a database, and those marked `postgres`.

`pytest --all` and `make test-all` run every case. Tests of generated inputs try 25 by default and
100 with `--all`, and tests that name a number take `examples(few, every=many)` of them; tests that
go through a long list take `some(cases, keep=few)`.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

T = TypeVar("T")

_runs_every_case = False


def examples(few: int, *, every: int) -> int:
    """How many examples hypothesis tries: `few`, or `every` of them with --all."""
    return every if _runs_every_case else few


def some(cases: Iterable[T], *, keep: int) -> list[T]:
    """`keep` of the cases in their order; all of them with --all."""
    found = list(cases)
    if _runs_every_case:
        return found
    kept = sorted(range(len(found)), key=lambda place: _rank(_name(found[place])))[:keep]
    return [found[place] for place in sorted(kept)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run every case of sampled tests")
    parser.addoption(
        "--one-in",
        type=int,
        metavar="N",
        help="run a fixed choice of one test in N of a database, and those marked postgres",
    )


def pytest_configure(config: pytest.Config) -> None:
    global _runs_every_case
    _runs_every_case = config.getoption("--all")
    # The same inputs at every run, too, and as much time as a busy machine takes.
    tried = examples(25, every=100)
    settings.register_profile(
        "same",
        max_examples=tried,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("same")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if part := config.getoption("--one-in"):
        _deselect(
            config,
            items,
            {
                item
                for item in items
                if not item.get_closest_marker("postgres")
                and (not _uses_database(item) or int(_rank(item.nodeid), 16) % part)
            },
        )
    if config.getoption("--all"):
        return
    groups: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("nightly"):
            groups["nightly", 0].append(item)
        elif marker := item.get_closest_marker("sampled"):
            of_what = "[" if hasattr(item, "callspec") else "::"
            group = marker.kwargs.get("group") or item.nodeid.split(of_what)[0]
            groups[group, marker.kwargs["keep"]].append(item)
    left_out = {
        item
        for (_, keep), cases in groups.items()
        for item in sorted(cases, key=lambda case: _rank(case.nodeid))[keep:]
    }
    _deselect(config, items, left_out)


def _deselect(config: pytest.Config, items: list[pytest.Item], left_out: set[pytest.Item]) -> None:
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _uses_database(item: pytest.Item) -> bool:
    """Whether the database of the settings can change what a test does."""
    fixtures = {"db", "transactional_db", "django_db_setup", "live_server"}
    asked: list[str] = getattr(item, "fixturenames", [])
    return item.get_closest_marker("django_db") is not None or not fixtures.isdisjoint(asked)


def _name(case: object) -> str:
    """A name that is the same in every process: the text of a function has its address."""
    return getattr(case, "__qualname__", None) or str(case)


def _rank(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
