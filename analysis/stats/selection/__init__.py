"""Which answers may be trusted, with a guarantee."""
