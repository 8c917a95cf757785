"""What a worker does: claim chunks, keep the ledger, write answers, recover."""
