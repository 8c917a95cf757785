"""Judges that were asked in several wordings or framings, and what each change explains."""
