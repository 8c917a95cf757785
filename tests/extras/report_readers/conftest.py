from tests.analysis.conftest import built_report, finished
from tests.extras.in_browser import browser, open_page, signed_in
from tests.extras.report_readers.test_blind import study

__all__ = ["browser", "built_report", "finished", "open_page", "signed_in", "study"]
