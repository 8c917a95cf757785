from tests.browser.conftest import browser, open_page, signed_in
from tests.judging.conftest import engine, llm

__all__ = ["browser", "engine", "llm", "open_page", "signed_in"]
