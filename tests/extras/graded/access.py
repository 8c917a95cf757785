"""Who may open the pages of graded answers."""

FOR_VIEWERS = {"graded/"}
