"""What judging needs for its tests: a real server, and an engine that ends with the test."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from judging.models import Judge
from judging.runs.judges import add_judge
from judging.worker import runtime
from tests.judging.llm_server import LlmServer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "llm" in getattr(item, "fixturenames", ()):
            item.add_marker("server")


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    server = LlmServer()
    yield server
    server.stop()


@pytest.fixture
def engine(transactional_db: None) -> Iterator[None]:
    """Loop and writer with connections of their own, ended before the database is emptied."""
    yield
    runtime.shut_down()
    # A run that failed tells its process to end; the next test stands for another process.
    runtime._stopping.clear()


@pytest.fixture
def judge(llm: LlmServer, engine: None) -> Judge:
    return make_judge(base_url=llm.url)


def make_judge(**overrides: Any) -> Judge:
    fields = {"name": "judge", "backend": "openai", "model": "mock", "outage_seconds": 60}
    fields |= {"structured": False}  # replies are texts, unless a test is about their form
    # The database refuses the same when the row comes; asking it before takes a query for each.
    with patch.object(Judge, "validate_constraints"):
        stored, _ = add_judge(**fields | overrides)
    return stored
