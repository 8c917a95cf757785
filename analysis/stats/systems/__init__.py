"""Systems that meet in pairs: win rates, strengths, and whether two sides rank them alike."""
