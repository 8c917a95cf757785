"""Pages on which researchers follow and set up the people of a study."""
