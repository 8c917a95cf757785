"""The life of a stored report: request, build, versions."""
