"""Figures about a whole study are counted again, but not for every page."""

from types import SimpleNamespace

import pytest
from django.core.cache import cache

from studies.statements import kept_figures
from studies.statements.kept_figures import LARGE, kept


@pytest.mark.parametrize(
    ("took", "lifetime"), [(0.01, 5), (0.5, 25), (10, 60)], ids=["soon", "by-its-time", "a-minute"]
)
def test_a_long_count_is_kept_for_longer(monkeypatch, took, lifetime):
    stored = []
    clock = iter([100.0, 100.0 + took])
    monkeypatch.setattr(kept_figures, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(cache, "get", lambda _: None)
    monkeypatch.setattr(cache, "set", lambda _, found, seconds: stored.append((found, seconds)))

    found = kept("rows", count=lambda: LARGE + 1, rows=lambda n: n)

    assert found == LARGE + 1
    assert stored == [(LARGE + 1, pytest.approx(lifetime))]


def test_a_small_study_is_counted_for_every_page():
    counts = iter([1, 2])

    found = [kept("few rows", count=lambda: next(counts), rows=lambda n: n) for _ in range(2)]

    assert found == [1, 2]
