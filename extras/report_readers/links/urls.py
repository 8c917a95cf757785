"""Addresses for owners, and those of links, which need no account and do not name the study."""

from django.urls import include, path

from studies.pages.addressed import view

_OWNERS = [
    path(
        "",
        view(
            "extras.report_readers.links.views:links", end="revoke", files="write", names="reveal"
        ),
        name="links",
    ),
]
_SHARED = [
    path("<str:link_id>/", view("extras.report_readers.links.views:shared_report"), name="report"),
    path(
        "<str:link_id>/card.png", view("extras.report_readers.links.views:shared_card"), name="card"
    ),
    path(
        "<str:link_id>/files.zip",
        view("extras.report_readers.links.views:shared_files"),
        name="files",
    ),
    path(
        "<str:link_id>/report.html",
        view("extras.report_readers.links.views:shared_file"),
        name="file",
    ),
]
urlpatterns = [
    path("studies/<slug:slug>/reports/<str:public_id>/share/", include((_OWNERS, "share_links"))),
    path("shared/", include((_SHARED, "shared"))),
]
