"""Tests of extras; what tests of all pages need to know of an extra's pages stands beside them."""

from collections.abc import Iterator
from importlib import import_module

import extras


def stated(name: str) -> Iterator[str]:
    """What the tests of extras state under this name, such as `FOR_VIEWERS`."""
    for extra in extras.NAMES:
        yield from getattr(import_module(f"tests.extras.{extra}"), name, ())
