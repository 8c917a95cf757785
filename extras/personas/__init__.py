"""Items about changed personas, and profile texts that a judge drafts from choices."""
