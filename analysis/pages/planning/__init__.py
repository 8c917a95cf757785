"""Pages about what a study can show, and about a comparison that is watched."""
