from tests.extras.in_browser import browser, open_page, signed_in
from tests.judging.conftest import engine, judge, llm

__all__ = ["browser", "engine", "judge", "llm", "open_page", "signed_in"]
