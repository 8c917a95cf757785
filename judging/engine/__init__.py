"""Prompts in, verdicts out: asks models about questions and keeps a ledger of every request.

Pure: no Django, no database. What must be stored goes through the `Ledger` protocol, what
answers is a `Backend`, and one `Limiter` per endpoint decides when the next request may leave.
"""
