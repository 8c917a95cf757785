"""Items: their texts, sets, systems and draws, and what all annotators and each run said of one."""
