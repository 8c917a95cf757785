from tests.annotation.prolific.conftest import prolific, published_once, row, study
from tests.extras.in_browser import browser, open_page, signed_in

__all__ = ["browser", "open_page", "prolific", "published_once", "row", "signed_in", "study"]
