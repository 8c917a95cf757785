"""Addresses of reports, exports and disagreements."""

from django.urls import include, path

from studies.pages.addressed import view

_REPORTS = [
    path("", view("analysis.pages.views:list_reports", "build"), name="list"),
    path("view/", view("analysis.pages.another_view:another_view"), name="view"),
    path(
        "<str:public_id>/",
        view("analysis.pages.views:show_report", progress="status"),
        name="report",
    ),
    path("<str:public_id>/report.html", view("analysis.pages.files:open_report"), name="open"),
    path(
        "<str:public_id>/pages/<slug:name>.html",
        view("analysis.pages.files:open_own_page"),
        name="own-page",
    ),
    path(
        "<str:public_id>/card.svg", view("analysis.pages.files:card"), {"kind": "svg"}, name="card"
    ),
    path(
        "<str:public_id>/card.png",
        view("analysis.pages.files:card"),
        {"kind": "png"},
        name="card-png",
    ),
    path("<str:public_id>/download/", view("analysis.pages.files:download_html"), name="download"),
    path("<str:public_id>/report.json", view("analysis.pages.files:download_json"), name="json"),
    path("<str:public_id>/tables.zip", view("analysis.pages.files:download_tables"), name="tables"),
    path(
        "<str:public_id>/tables/<slug:name>.csv",
        view("analysis.pages.files:download_table"),
        name="table",
    ),
    path("<str:public_id>/items.json", view("analysis.pages.files:item_rows"), name="item_rows"),
]
_EXPORTS = [
    path(
        "",
        view("analysis.pages.export_views:list_exports", "again", "stale", new="create"),
        name="list",
    ),
    path("table/", view("analysis.pages.export_views:table"), name="table"),
    path(
        "<str:public_id>/download/", view("analysis.pages.export_views:download"), name="download"
    ),
    path("<str:public_id>/delete/", view("analysis.pages.export_views:delete"), name="delete"),
]
_DISAGREEMENTS = [
    path(
        "", view("analysis.pages.disagreement_views:disagreements", progress="status"), name="list"
    ),
]
urlpatterns = [
    path("studies/<slug:slug>/disagreements/", include((_DISAGREEMENTS, "disagreements"))),
    path("studies/<slug:slug>/reports/", include((_REPORTS, "analysis"))),
    path("studies/<slug:slug>/exports/", include((_EXPORTS, "exports"))),
]
