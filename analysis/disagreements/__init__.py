"""Items on which annotators and a judge agree or not: the list, its filters, and notes on items."""
