"""Who may open reports on several studies: only the person who asked for one."""

OTHERS = {
    "several-studies/",
    "several-studies/<report_id>/",
    "several-studies/<report_id>/all.zip",
    "several-studies/<report_id>/files/<name>",
    "several-studies/<report_id>/status/",
}
LEFT_OUT = {"is about no study of a team": "several_studies:"}
