"""People who answer for themselves: profiles of them, studies that predict them, second visits."""
