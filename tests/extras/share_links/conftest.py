from tests.analysis.conftest import built_report, finished
from tests.extras.in_browser import browser, open_page, signed_in
from tests.extras.share_links.test_blind import study

__all__ = ["browser", "built_report", "finished", "open_page", "signed_in", "study"]
