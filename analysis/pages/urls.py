from django.urls import path

from analysis.pages import annotator_views, plan_views, share_link_views, version_views, views
from analysis.pages.items import draw_views

app_name = "analysis"
urlpatterns = [
    path("", views.list_reports, name="list"),
    path("panel/", views.panel, name="panel"),
    path("build/", views.build, name="build"),
    path("annotators/", annotator_views.annotators, name="annotators"),
    path("annotators/status/", annotator_views.annotators_status, name="annotators_status"),
    path("annotator/", annotator_views.annotator, name="annotator"),
    path("plan/", plan_views.plan, name="plan"),
    path("draw/", draw_views.draw, name="draw"),
    path("compare/", version_views.compare, name="compare"),
    path("<str:public_id>/", views.show_report, name="report"),
    path("<str:public_id>/status/", views.status, name="status"),
    path("<str:public_id>/verify/", views.verify, name="verify"),
    path("<str:public_id>/report.html", views.open_report, name="open"),
    path("<str:public_id>/download/", views.download_html, name="download"),
    path("<str:public_id>/report.json", views.download_json, name="json"),
    path("<str:public_id>/tables.zip", views.download_tables, name="tables"),
    path("<str:public_id>/tables/<slug:name>.csv", views.download_table, name="table"),
    path("<str:public_id>/items.json", views.item_rows, name="item_rows"),
    path("<str:public_id>/share/", share_link_views.share, name="share"),
    path("<str:public_id>/share/<str:link_id>/end/", share_link_views.revoke, name="revoke"),
]
