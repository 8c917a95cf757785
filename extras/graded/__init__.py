"""Answers with more than a choice: its strength, a score per response, criteria, and a reason."""
