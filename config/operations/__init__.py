"""Operating an installation: checks of its data, backups, retention."""
