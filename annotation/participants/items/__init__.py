"""The item page: its content, the position in the task, and what is stored from it."""
