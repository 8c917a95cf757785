"""The chapter “At a glance”: headline and accuracies."""
