"""Which annotator works on which items: states, assignment, quota groups, capacity."""
