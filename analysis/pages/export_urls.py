from django.urls import path

from analysis.pages import export_views

app_name = "exports"
urlpatterns = [
    path("", export_views.list_exports, name="list"),
    path("panel/", export_views.panel, name="panel"),
    path("table/", export_views.table, name="table"),
    path("new/", export_views.create, name="create"),
    path("stale/", export_views.stale, name="stale"),
    path("<str:public_id>/download/", export_views.download, name="download"),
    path("<str:public_id>/again/", export_views.again, name="again"),
    path("<str:public_id>/delete/", export_views.delete, name="delete"),
]
