"""People who answer for themselves: their profiles, studies that predict them, second visits."""
