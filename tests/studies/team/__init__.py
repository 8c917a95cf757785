"""The team of a study, its log, and the study as a whole."""
