"""The text of a report: numbers, names and reasons as readers see them."""
