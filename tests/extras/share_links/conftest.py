from tests.analysis.conftest import built_report, finished
from tests.analysis.exports.test_blind import study
from tests.extras.in_browser import browser, open_page, signed_in

__all__ = ["browser", "built_report", "finished", "open_page", "signed_in", "study"]
