"""A simulated Prolific: its participants, its money and its account are invented."""
