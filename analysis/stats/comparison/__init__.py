"""One side against another."""
