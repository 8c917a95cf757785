from tests.analysis.conftest import every_key_is_described
from tests.extras.in_browser import browser, open_page, signed_in
from tests.judging.conftest import engine, judge, llm

__all__ = ["browser", "engine", "every_key_is_described", "judge", "llm", "open_page", "signed_in"]
