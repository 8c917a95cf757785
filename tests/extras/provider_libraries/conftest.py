from tests.judging.conftest import engine

__all__ = ["engine"]
