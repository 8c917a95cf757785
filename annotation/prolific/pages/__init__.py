"""The recruiting pages of researchers, and the webhook that Prolific calls."""
