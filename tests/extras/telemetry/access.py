"""Who may read the figures: programs with a token, or on this machine."""

OPEN = {"metrics"}
