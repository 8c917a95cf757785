"""Which cases of a large matrix run by default: a few, others with every commit.

`@pytest.mark.sampled(keep=5)` on a parametrized test keeps five of its cases; on tests without
parameters, `keep` counts the tests of the file, or those of any file with the same `group`:
`@pytest.mark.sampled(keep=2, group="simulations")`. `pytest --all` and `make test-all` run every
case. Tests of generated inputs that name no number try 25 by default and 100 with `--all`.
The header of a run names its seed: `pytest --sample SEED` runs the same cases again. Tests of
generated inputs take `examples(few, every=many)` of them, and tests that go through a long list
take `some(cases, keep=few)` of it.
"""

import datetime as dt
import hashlib
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

ROOT = Path(__file__).resolve().parent.parent


T = TypeVar("T")

_runs_every_case = False
_seed = ""


def examples(few: int, *, every: int) -> int:
    """How many examples hypothesis tries: `few`, or `every` of them with --all."""
    return every if _runs_every_case else few


def some(cases: Iterable[T], *, keep: int) -> list[T]:
    """`keep` of the cases in their order, others with every commit; all of them with --all."""
    found = list(cases)
    if _runs_every_case:
        return found
    kept = sorted(range(len(found)), key=lambda place: _rank(_seed, _name(found[place])))[:keep]
    return [found[place] for place in sorted(kept)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run every case of sampled tests")
    parser.addoption("--sample", metavar="SEED", help="choose the cases that SEED chooses")


def pytest_configure(config: pytest.Config) -> None:
    global _runs_every_case, _seed
    _runs_every_case = config.getoption("--all")
    if not config.getoption("--sample"):
        config.option.sample = _commit()
    _seed = config.option.sample
    if not _runs_every_case:
        _try_few_examples()


def pytest_report_header(config: pytest.Config) -> str:
    if config.getoption("--all"):
        return "sampled tests: every case"
    return f"sampled tests: --sample {config.getoption('--sample')}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all"):
        return
    groups: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if marker := item.get_closest_marker("sampled"):
            of_what = "[" if hasattr(item, "callspec") else "::"
            group = marker.kwargs.get("group") or item.nodeid.split(of_what)[0]
            groups[group, marker.kwargs["keep"]].append(item)
    seed = config.getoption("--sample")
    left_out = {
        item
        for (_, keep), cases in groups.items()
        for item in sorted(cases, key=lambda case: _rank(seed, case.nodeid))[keep:]
    }
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _try_few_examples() -> None:
    """Where a test does not say how many: a quarter of what hypothesis tries by itself."""
    settings.register_profile("few", max_examples=25)
    settings.load_profile("few")
    # Few examples would hold a constant of the program; finding these takes each process seconds.
    providers._get_local_constants = lambda: providers._local_constants


def _name(case: object) -> str:
    """A name that is the same in every process: the text of a function has its address."""
    return getattr(case, "__qualname__", None) or str(case)


def _rank(seed: str, name: str) -> str:
    return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()


def _commit() -> str:
    """The commit that is tested; the date where there is no repository."""
    found = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or dt.datetime.now(dt.UTC).date().isoformat()
