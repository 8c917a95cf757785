"""Quality and use of stated certainty."""
