"""A simulated Prolific: its people, its money and its account are invented."""
