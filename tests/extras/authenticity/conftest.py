from tests.annotation.prolific.conftest import prolific, published_once, study

__all__ = ["prolific", "published_once", "study"]
