"""Who may open the pages of verification."""

# It wants a finished report.
NOT_HERE = {"reports/<public_id>/verify/"}
FOR_VIEWERS = {"reports/<public_id>/verify/status/", "reports/compare/"}
NEEDS_DATA = "verification:"
