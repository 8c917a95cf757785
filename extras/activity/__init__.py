"""The activity of a study: who changed what and when, with filters and as a file."""
