"""Measuring how many simultaneous annotators a server can serve, on a copy of a study."""
