"""Synchronise our records with Prolific's."""
