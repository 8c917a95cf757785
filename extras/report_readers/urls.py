"""Reports by links that need no account, of several studies, and computed again."""

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
_SEVERAL = [
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
_COMPARISON = [
    path("", view("extras.report_readers.recomputed.comparison:compare"), name="reports")
]
_VERIFICATION = [
    path(
        "", view("extras.report_readers.recomputed.views:verify", progress="status"), name="verify"
    ),
]
urlpatterns = [
    path("studies/<slug:slug>/reports/<str:public_id>/share/", include((_OWNERS, "share_links"))),
    path("shared/", include((_SHARED, "shared"))),
    path("several-studies/", include((_SEVERAL, "several_studies"))),
    path("studies/<slug:slug>/reports/compare/", include((_COMPARISON, "comparison"))),
    path(
        "studies/<slug:slug>/reports/<str:public_id>/verify/",
        include((_VERIFICATION, "verification")),
    ),
]
