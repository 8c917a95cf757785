"""Fixtures of a browser for tests of extras: imported, a scope of `package` would last too long."""

import pytest

from tests.browser.conftest import open_page, running, signed_in

__all__ = ["browser", "open_page", "signed_in"]

browser = pytest.fixture(running, scope="module", name="browser")
