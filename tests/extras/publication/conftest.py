from tests.analysis.exports.conftest import study
from tests.analysis.test_promises import study as two_versions

__all__ = ["study", "two_versions"]
