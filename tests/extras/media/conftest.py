from tests.browser.conftest import study
from tests.extras.in_browser import browser, open_page, signed_in
from tests.judging.conftest import engine, llm

__all__ = ["browser", "engine", "llm", "open_page", "signed_in", "study"]
