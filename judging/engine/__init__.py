"""Prompts in, verdicts out: asks models about questions and keeps a ledger of every request.

The package is pure: no Django, no database. Data are stored through the `AttemptLedger` protocol, a
`Backend` answers, and one `Limiter` per endpoint decides when the next request may be sent.
"""
