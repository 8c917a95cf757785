"""Consent texts that change while people take part, and who is asked to agree again."""
