"""Who may open the pages of likeness."""

FOR_VIEWERS = {"reports/annotators/", "reports/annotators/status/", "reports/annotator/"}
# The comparison of a study is queued when somebody first looks.
KEPT_WHEN_READ = {"likeness_errorcomparison"}
# It wants the name of an annotator.
NOT_HERE = {"reports/annotator/"}
