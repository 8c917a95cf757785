"""Profile texts that a judge writes from a persona's earlier choices, reviewed before use."""
