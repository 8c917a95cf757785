"""Who may open the page of remarks."""

FOR_VIEWERS = {"remarks/"}
