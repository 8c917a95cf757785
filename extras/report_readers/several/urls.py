from django.urls import path

from studies.pages.addressed import view

app_name = "several_studies"
urlpatterns = [
    path("", view("extras.report_readers.several.views:choose"), name="choose"),
    path(
        "<str:report_id>/",
        view("extras.report_readers.several.views:show", progress="status"),
        name="show",
    ),
    path(
        "<str:report_id>/all.zip",
        view("extras.report_readers.several.views:download"),
        name="download",
    ),
    path(
        "<str:report_id>/files/<path:name>",
        view("extras.report_readers.several.views:file"),
        name="file",
    ),
]
