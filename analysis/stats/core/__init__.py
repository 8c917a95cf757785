"""Results, intervals and tests that every other package uses."""
