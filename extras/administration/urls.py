from django.urls import path

from extras.administration import account_views, backup_views, views

app_name = "administration"
urlpatterns = [
    path("", views.studies, name="studies"),
    path("reports/", views.reports, name="reports"),
    path("reports/reports.zip", views.reports_file, name="reports-file"),
    path("users/", account_views.users, name="users"),
    path("users/new/", account_views.new_user, name="new-user"),
    path("users/active/", account_views.set_active, name="set-active"),
    path("users/end-all/", account_views.end_everything, name="end-all"),
    path("users/second-step/", account_views.remove_second_step, name="remove-second-step"),
    path("users/<int:user_id>/", account_views.change_user, name="user"),
    path("users/<int:user_id>/close/", account_views.close, name="close"),
    path("server/", views.installation, name="server"),
    path("server/backups/", backup_views.make, name="make-backup"),
    path("server/backups/status/", backup_views.status, name="backup-status"),
    path("server/backups/<int:backup_id>/", backup_views.download, name="backup"),
    path("server/backups/<int:backup_id>/delete/", backup_views.delete, name="delete-backup"),
    path("server/backups/<int:backup_id>/restore/", backup_views.restore, name="restore"),
]
