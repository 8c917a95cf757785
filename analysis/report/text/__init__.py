"""The words of a report: numbers, names and reasons as people read them."""
