from django.urls import path

from config.administration import views

app_name = "administration"
urlpatterns = [
    path("", views.studies, name="studies"),
    path("reports/", views.reports, name="reports"),
    path("reports/reports.zip", views.reports_file, name="reports-file"),
    path("users/", views.users, name="users"),
    path("users/active/", views.set_active, name="set-active"),
    path("users/end-all/", views.end_everything, name="end-all"),
    path("server/", views.installation, name="server"),
]
