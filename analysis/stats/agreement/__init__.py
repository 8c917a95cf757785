"""Agreement among annotators, and the quality of each one."""
