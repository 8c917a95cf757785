"""Accounts and members: sign-in limits, second steps, access tokens, invitations and roles."""
