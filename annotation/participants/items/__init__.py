"""The item page: its content, its frame, the position in the task, and what is stored from it."""
