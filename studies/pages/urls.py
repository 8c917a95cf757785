from django.urls import path

from studies.pages import import_views, overview_views, settings_views, views
from studies.pages.framed import framed_here
from studies.pages.items import editing_views, mapping_views

app_name = "studies"
urlpatterns = [
    path("", views.list_page, name="list"),
    path("new/", settings_views.new, name="new"),
    path("<slug:slug>/", overview_views.detail, name="detail"),
    path("<slug:slug>/monitor/", overview_views.monitor_panel, name="monitor"),
    path("<slug:slug>/launch/", overview_views.launch, name="launch"),
    path("<slug:slug>/settings/", settings_views.settings, name="settings"),
    path("<slug:slug>/state/", overview_views.change_state, name="state"),
    path("<slug:slug>/import/", import_views.import_page, name="import"),
    path(
        "<slug:slug>/import/columns/<str:public_id>/",
        mapping_views.columns,
        name="import-columns",
    ),
    path(
        "<slug:slug>/import/columns/<str:public_id>/mapping.json",
        mapping_views.mapping_file,
        name="import-mapping",
    ),
    path(
        "<slug:slug>/import/columns/<str:public_id>/item/<int:number>/",
        framed_here(mapping_views.preview_item),
        name="import-preview",
    ),
    path("<slug:slug>/import/<str:public_id>/", import_views.import_job, name="import-job"),
    path(
        "<slug:slug>/import/<str:public_id>/status/",
        import_views.import_status,
        name="import-status",
    ),
    path("<slug:slug>/items/", views.items, name="items"),
    path("<slug:slug>/items/<str:key>/edit/", editing_views.edit, name="item-edit"),
    path("<slug:slug>/items/<str:key>/persona/", editing_views.persona, name="item-persona"),
    path("<slug:slug>/items/<str:key>/delete/", editing_views.delete, name="item-delete"),
    # Not below items/, where it could be the address of an item.
    path("<slug:slug>/delete-items/", editing_views.delete_all, name="items-delete"),
]
