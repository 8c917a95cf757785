"""Judges: their runs and judgments as arrays and rows, juries, probes, wordings and versions."""
