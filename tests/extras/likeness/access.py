"""Who may open the pages of likeness."""

FOR_VIEWERS = {"reports/annotators/", "reports/annotators/status/", "reports/annotator/"}
# It wants the name of an annotator.
NOT_HERE = {"reports/annotator/"}
