"""How many simultaneous annotators a server can serve, measured with simulated ones."""
