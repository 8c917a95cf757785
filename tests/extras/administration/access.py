"""Who may open the administrators' pages: superusers alone."""

OTHERS = {
    "administration/",
    "administration/reports/",
    "administration/reports/reports.zip",
    "administration/server/",
    "administration/server/backups/",
    "administration/server/backups/<backup_id>/",
    "administration/server/backups/<backup_id>/delete/",
    "administration/server/backups/<backup_id>/restore/",
    "administration/server/backups/status/",
    "administration/users/",
    "administration/users/active/",
    "administration/users/end-all/",
    "administration/users/new/",
    "administration/users/second-step/",
    "administration/users/<user_id>/",
    "administration/users/<user_id>/close/",
}
