"""What frames every page of a study, and what each app adds to it: see `registry`."""
