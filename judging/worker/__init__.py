"""What a worker does: claim chunks, ask, keep the ledger, end runs, recover."""
