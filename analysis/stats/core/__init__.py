"""Results, intervals and tests that the other packages of statistics use."""
