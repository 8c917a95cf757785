"""Pages for administrators: every study, accounts, the server, and backups by a press."""
