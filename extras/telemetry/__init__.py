"""Spans of runs and of requests to judges for OpenTelemetry, by its conventions for GenAI."""
