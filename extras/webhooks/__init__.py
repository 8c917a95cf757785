"""Outgoing webhooks: addresses that receive events of a study."""
