"""Giving a study away: its bundle or its sealed plan, as a private copy at a public archive."""
