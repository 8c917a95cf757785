"""Signing in, passwords, accounts by invitation, and access tokens."""
