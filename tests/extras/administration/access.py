"""Who may open the pages: superusers; members the activity of a study; everybody the docs.

Programs with a token, or on this machine, may read the figures."""

FOR_VIEWERS = {"activity/"}
OPEN = {"metrics", "docs/", "llms.txt", "llms-full.txt"}
OTHERS = {
    "administration/",
    "administration/reports/",
    "administration/reports/reports.zip",
    "administration/server/",
    "administration/server/ backups",
    "administration/server/backups/<backup_id>/",
    "administration/server/ delete_backup",
    "administration/server/backups/<backup_id>/restore/",
    "administration/server/?progress",
    "administration/users/",
    "administration/users/ active",
    "administration/users/ end_all",
    "administration/users/new/",
    "administration/users/ second_step",
    "administration/users/<user_id>/",
    "administration/users/<user_id>/close/",
}
