"""Items on which annotators and a judge disagree: list, filters and notes."""
