"""Admission to a study: links, invitations, related studies, limits, confirmation."""
