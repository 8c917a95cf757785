"""The researcher's pages of judges, runs and campaigns."""
