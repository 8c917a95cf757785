from tests.judging.conftest import engine, judge, llm

__all__ = ["engine", "judge", "llm"]
