"""Results, intervals and tests for the other packages of statistics."""
