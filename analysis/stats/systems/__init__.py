"""Systems whose responses were compared: win rates, strengths and rankings."""
