from django.urls import path

from studies.pages.addressed import view

app_name = "documentation"
urlpatterns = [
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
