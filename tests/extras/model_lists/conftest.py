from tests.judging.judge_pages.conftest import admin, editor, study

__all__ = ["admin", "editor", "study"]
