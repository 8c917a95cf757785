"""The researcher's pages of reports, plans, share links and exports."""
