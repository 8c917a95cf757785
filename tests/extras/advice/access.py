"""Which buttons of this extra the test of pairs cannot press."""

NEEDS_DATA = "advice:discuss"
