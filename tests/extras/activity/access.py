"""Who may open the page of activity: every member."""

FOR_VIEWERS = {"activity/"}
