from tests.judging.conftest import engine, llm

__all__ = ["engine", "llm"]
