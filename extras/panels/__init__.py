"""People from other platforms than Prolific: their links, their ways back, and their pay."""
