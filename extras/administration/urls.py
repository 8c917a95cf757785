from django.urls import path

from studies.pages.addressed import view

app_name = "administration"
urlpatterns = [
    path("", view("extras.administration.views:studies"), name="studies"),
    path("reports/", view("extras.administration.views:reports"), name="reports"),
    path(
        "reports/reports.zip", view("extras.administration.views:reports_file"), name="reports-file"
    ),
    path(
        "users/",
        view(
            "extras.administration.account_views:users",
            active="set_active",
            end_all="end_everything",
            second_step="remove_second_step",
        ),
        name="users",
    ),
    path("users/new/", view("extras.administration.account_views:new_user"), name="new-user"),
    path(
        "users/<int:user_id>/", view("extras.administration.account_views:change_user"), name="user"
    ),
    path(
        "users/<int:user_id>/close/",
        view("extras.administration.account_views:close"),
        name="close",
    ),
    path(
        "server/",
        view(
            "extras.administration.views:installation",
            backups="extras.administration.backup_views:make",
            delete_backup="extras.administration.backup_views:delete",
            progress="extras.administration.backup_views:status",
        ),
        name="server",
    ),
    path(
        "server/backups/<int:backup_id>/",
        view("extras.administration.backup_views:download"),
        name="backup",
    ),
    path(
        "server/backups/<int:backup_id>/restore/",
        view("extras.administration.backup_views:restore"),
        name="restore",
    ),
]
