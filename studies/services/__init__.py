"""Everything that changes a study or an account."""
