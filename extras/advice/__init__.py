"""Items with advice after the first answer, and juries whose judges discuss."""
