"""Who may enter a study: links, invitations, related studies, limits, confirmation."""
