from tests.analysis.conftest import every_key_is_described

__all__ = ["every_key_is_described"]
