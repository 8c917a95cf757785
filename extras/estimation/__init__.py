"""Rankings of systems, and estimates for all judged items from people's answers to some."""
