"""The audit of a study's items: what would make answers to them worth less, found beforehand."""
