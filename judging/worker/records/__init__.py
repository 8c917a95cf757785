"""What a worker stores: the ledger of requests and answers, budgets, and the thread that writes."""
