"""Pages for administrators: every study, accounts, the server; backups, also by command."""
