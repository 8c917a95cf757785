"""The chapter on participation, exclusions and costs."""
