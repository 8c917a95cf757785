from tests.extras.in_browser import browser, open_page

__all__ = ["browser", "open_page"]
