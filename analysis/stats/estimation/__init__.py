"""Means over all items that a judge judged, of which people answered some."""
