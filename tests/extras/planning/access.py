"""Who may open the pages of planning."""

FOR_VIEWERS = {"planning/", "planning/plan/", "planning/?progress", "planning/watched/"}
# A forecast changes nothing of a study, and a watched comparison needs a run without answers.
NEEDS_DATA = "planning:(forecast|watched)"
