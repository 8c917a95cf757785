from tests.annotation.prolific.conftest import prolific, published_once, row, study

__all__ = ["prolific", "published_once", "row", "study"]
