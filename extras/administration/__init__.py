"""Running an installation: superusers' pages, backups, `doctor`, activity of a study, the docs."""
