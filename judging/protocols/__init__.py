"""Judging protocols: the question to a judge and the reading of its reply, one module each."""
