"""What `tests.config.test_access` and `tests.test_pairs_at_once` have to know of the pages."""

FOR_VIEWERS = {"audit/", "audit/?progress"}
KEPT_WHEN_READ = {"analysis_audit"}
NEEDS_DATA = "audit:"
