from django.urls import path

from studies.pages.addressed import view

app_name = "several_studies"
urlpatterns = [
    path("", view("extras.several_studies.views:choose"), name="choose"),
    path("<str:report_id>/", view("extras.several_studies.views:show"), name="show"),
    path("<str:report_id>/status/", view("extras.several_studies.views:status"), name="status"),
    path("<str:report_id>/all.zip", view("extras.several_studies.views:download"), name="download"),
    path(
        "<str:report_id>/files/<path:name>", view("extras.several_studies.views:file"), name="file"
    ),
]
