"""Forecasts of what a study can show, and a comparison that can be watched during it."""
