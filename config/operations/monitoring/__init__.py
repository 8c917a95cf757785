"""Monitoring: log lines, and figures in Prometheus's format."""
