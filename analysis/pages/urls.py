"""Addresses of reports, exports, audits and disagreements."""

from django.urls import include, path

from analysis.pages import (
    another_view,
    audit_views,
    disagreement_views,
    export_views,
    files,
    views,
)

_REPORTS = [
    path("", views.list_reports, name="list"),
    path("build/", views.build, name="build"),
    path("view/", another_view.another_view, name="view"),
    path("<str:public_id>/", views.show_report, name="report"),
    path("<str:public_id>/status/", views.status, name="status"),
    path("<str:public_id>/report.html", files.open_report, name="open"),
    path("<str:public_id>/pages/<slug:name>.html", files.open_own_page, name="own-page"),
    path("<str:public_id>/card.svg", files.card, {"kind": "svg"}, name="card"),
    path("<str:public_id>/card.png", files.card, {"kind": "png"}, name="card-png"),
    path("<str:public_id>/download/", files.download_html, name="download"),
    path("<str:public_id>/report.json", files.download_json, name="json"),
    path("<str:public_id>/tables.zip", files.download_tables, name="tables"),
    path("<str:public_id>/tables/<slug:name>.csv", files.download_table, name="table"),
    path("<str:public_id>/items.json", files.item_rows, name="item_rows"),
]
_EXPORTS = [
    path("", export_views.list_exports, name="list"),
    path("table/", export_views.table, name="table"),
    path("new/", export_views.create, name="create"),
    path("stale/", export_views.stale, name="stale"),
    path("<str:public_id>/download/", export_views.download, name="download"),
    path("<str:public_id>/again/", export_views.again, name="again"),
    path("<str:public_id>/delete/", export_views.delete, name="delete"),
]
_AUDIT = [
    path("", audit_views.findings, name="findings"),
    path("status/", audit_views.status, name="status"),
    path("again/", audit_views.again, name="again"),
    path("accept/", audit_views.accept_finding, name="accept"),
]
_DISAGREEMENTS = [
    path("", disagreement_views.disagreements, name="list"),
    path("status/", disagreement_views.status, name="status"),
]
urlpatterns = [
    path("studies/<slug:slug>/disagreements/", include((_DISAGREEMENTS, "disagreements"))),
    path("studies/<slug:slug>/audit/", include((_AUDIT, "audit"))),
    path("studies/<slug:slug>/reports/", include((_REPORTS, "analysis"))),
    path("studies/<slug:slug>/exports/", include((_EXPORTS, "exports"))),
]
