"""Answers a second of this program and of its peers, measured in turn in one run."""
