"""A launch on Prolific rehearsed: drafts are created, read back, compared and deleted."""
