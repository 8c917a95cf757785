"""Files about a report and its answers, for a paper and for other programs."""
