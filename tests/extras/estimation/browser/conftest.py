from tests.browser.conftest import browser, open_page, signed_in

__all__ = ["browser", "open_page", "signed_in"]
