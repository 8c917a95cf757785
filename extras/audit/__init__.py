"""The audit of a study's items: find problems that make answers less useful, before launch."""
