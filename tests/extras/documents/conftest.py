from tests.analysis.exports.conftest import study

__all__ = ["study"]
