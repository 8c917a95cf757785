"""What a source says about passing its items on."""

# From the freest word to the strictest.
REDISTRIBUTION = ("allowed", "unknown", "non-commercial", "forbidden")
