"""The chapter on who took part, what was left out, and what it cost."""
