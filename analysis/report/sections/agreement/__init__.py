"""The chapter on agreement: among annotators, and of judges with them."""
