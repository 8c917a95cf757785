"""From the description of a run to its rows: what goes together, orders, extension and reuse."""
