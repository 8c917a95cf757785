"""Pages on which editors set up what annotators are asked: questions, quotas, checks and texts."""
