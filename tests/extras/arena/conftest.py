from tests.analysis.conftest import every_key_is_described
from tests.extras.in_browser import browser, open_page, signed_in
from tests.judging.conftest import engine, llm

__all__ = ["browser", "engine", "every_key_is_described", "llm", "open_page", "signed_in"]
