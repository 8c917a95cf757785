"""All changes to a study or an account."""
