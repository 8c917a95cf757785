"""The chapter “At a glance”: headline, accuracies, and how many annotators a judge is worth."""
