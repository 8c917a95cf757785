"""Sources of replies: servers and local models. No Django."""
