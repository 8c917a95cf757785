from django.urls import path

from studies.pages.addressed import view

app_name = "administration"
urlpatterns = [
    path("", view("extras.administration.views:studies"), name="studies"),
    path("reports/", view("extras.administration.views:reports"), name="reports"),
    path(
        "reports/reports.zip", view("extras.administration.views:reports_file"), name="reports-file"
    ),
    path("users/", view("extras.administration.account_views:users"), name="users"),
    path("users/new/", view("extras.administration.account_views:new_user"), name="new-user"),
    path(
        "users/active/", view("extras.administration.account_views:set_active"), name="set-active"
    ),
    path(
        "users/end-all/", view("extras.administration.account_views:end_everything"), name="end-all"
    ),
    path(
        "users/second-step/",
        view("extras.administration.account_views:remove_second_step"),
        name="remove-second-step",
    ),
    path(
        "users/<int:user_id>/", view("extras.administration.account_views:change_user"), name="user"
    ),
    path(
        "users/<int:user_id>/close/",
        view("extras.administration.account_views:close"),
        name="close",
    ),
    path("server/", view("extras.administration.views:installation"), name="server"),
    path("server/backups/", view("extras.administration.backup_views:make"), name="make-backup"),
    path(
        "server/backups/status/",
        view("extras.administration.backup_views:status"),
        name="backup-status",
    ),
    path(
        "server/backups/<int:backup_id>/",
        view("extras.administration.backup_views:download"),
        name="backup",
    ),
    path(
        "server/backups/<int:backup_id>/delete/",
        view("extras.administration.backup_views:delete"),
        name="delete-backup",
    ),
    path(
        "server/backups/<int:backup_id>/restore/",
        view("extras.administration.backup_views:restore"),
        name="restore",
    ),
]
