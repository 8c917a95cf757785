"""Who may open the pages of an arena."""

FOR_VIEWERS = {"arena/"}
