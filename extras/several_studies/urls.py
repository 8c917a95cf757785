from django.urls import path

from extras.several_studies import views

app_name = "several_studies"
urlpatterns = [
    path("", views.choose, name="choose"),
    path("<str:report_id>/", views.show, name="show"),
    path("<str:report_id>/status/", views.status, name="status"),
    path("<str:report_id>/all.zip", views.download, name="download"),
    path("<str:report_id>/files/<path:name>", views.file, name="file"),
]
