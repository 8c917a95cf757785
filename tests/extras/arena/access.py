"""Who may open the pages of an arena."""

FOR_VIEWERS = {"arena/"}
NEEDS_DATA = r"arena:"  # systems that can write, and a budget
