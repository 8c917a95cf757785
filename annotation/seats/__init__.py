"""Who works on what: states, assignment, quota groups, capacity."""
