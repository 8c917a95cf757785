"""What a study can show before it has data, and a comparison that may be watched meanwhile."""
