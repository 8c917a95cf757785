"""Items with advice after the first answer, debates by models, and juries whose judges discuss."""
