"""Pages about who works on a study, what they changed, and the study as a whole."""
