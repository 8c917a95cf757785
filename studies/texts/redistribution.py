"""Values for whether a source allows its items to be passed on."""

# From the most open value to the strictest.
REDISTRIBUTION = ("allowed", "unknown", "non-commercial", "forbidden")
