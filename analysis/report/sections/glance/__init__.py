"""The chapter “At a glance”: the headline, everybody's accuracy, and what a judge is worth."""
