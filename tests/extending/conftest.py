"""Fixtures of judging for the pages that add a part to it."""

from tests.judging.conftest import engine, llm

__all__ = ["engine", "llm"]
