"""Pages on which researchers set up a study for annotators and follow its progress."""
