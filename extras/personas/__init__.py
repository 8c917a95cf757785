"""Items about changed personas, and texts about personas that a judge drafts from their choices."""
