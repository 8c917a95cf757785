from tests.analysis.conftest import every_key_is_described
from tests.extras.in_browser import browser, open_page, signed_in

__all__ = ["browser", "every_key_is_described", "open_page", "signed_in"]
