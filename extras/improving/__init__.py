"""Wordings that a judge learns from people's answers, tried once on answers that it never saw."""
