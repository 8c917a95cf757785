"""Links that open a report without an account, also for blind review and with all files."""
