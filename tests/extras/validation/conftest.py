from tests.analysis.conftest import every_key_is_described
from tests.judging.conftest import engine, llm

__all__ = ["engine", "every_key_is_described", "llm"]
