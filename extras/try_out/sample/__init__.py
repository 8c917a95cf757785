"""A study to try: 60 items, 20 simulated people, three simulated judges, and its report."""
