"""What runs cost: estimates before they start, a probe, their usage, and a budget of several."""
