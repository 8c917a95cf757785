from tests.extras.in_browser import browser, open_page, signed_in

__all__ = ["browser", "open_page", "signed_in"]
