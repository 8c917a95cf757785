"""Recruiting on Prolific."""
