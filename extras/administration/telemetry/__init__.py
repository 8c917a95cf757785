"""Spans of runs and requests for OpenTelemetry, and figures for Prometheus."""
