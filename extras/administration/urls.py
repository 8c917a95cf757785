"""Pages of the installation, the documentation, and the activity of a study."""

from django.urls import include, path

from studies.pages.addressed import view

_ADMINISTRATION = [
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
_ACTIVITY = [path("", view("extras.administration.activity:activity"), name="log")]
_DOCUMENTATION = [
    path("docs/", view("extras.administration.documentation.views:index"), name="index"),
    path(
        "docs/files/<path:path>",
        view("extras.administration.documentation.views:file"),
        name="file",
    ),
    path(
        "docs/<path:name>.md",
        view("extras.administration.documentation.views:source"),
        name="source",
    ),
    path("docs/<path:name>/", view("extras.administration.documentation.views:page"), name="page"),
    path("llms.txt", view("extras.administration.documentation.views:llms"), name="llms"),
    path(
        "llms-full.txt",
        view("extras.administration.documentation.views:llms_full"),
        name="llms-full",
    ),
]
urlpatterns = [
    path("administration/", include((_ADMINISTRATION, "administration"))),
    path(
        "admin/components/", view("extras.administration.components:components"), name="components"
    ),
    path("studies/<slug:slug>/activity/", include((_ACTIVITY, "activity"))),
    path("metrics", view("extras.administration.telemetry.metrics:metrics"), name="metrics"),
    path("", include((_DOCUMENTATION, "documentation"))),
]
