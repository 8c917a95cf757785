"""A stored report: request, build, versions, verification, plans, share links."""
