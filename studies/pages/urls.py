from django.urls import path

from studies.pages.addressed import view
from studies.pages.responses import framed_here

app_name = "studies"
urlpatterns = [
    path("", view("studies.pages.views:list_page"), name="list"),
    path("new/", view("studies.pages.settings_views:new"), name="new"),
    path(
        "<slug:slug>/",
        view("studies.pages.overview_views:detail", state="change_state"),
        name="detail",
    ),
    path(
        "<slug:slug>/monitor/", view("studies.pages.overview_views:monitor_panel"), name="monitor"
    ),
    path(
        "<slug:slug>/next-step/", view("studies.pages.overview_views:next_step"), name="next-step"
    ),
    path("<slug:slug>/launch/", view("studies.pages.overview_views:launch"), name="launch"),
    path("<slug:slug>/settings/", view("studies.pages.settings_views:settings"), name="settings"),
    path("<slug:slug>/settings/extras/", view("studies.pages.extra_views:extras"), name="extras"),
    path("<slug:slug>/import/", view("studies.pages.import_views:import_page"), name="import"),
    path(
        "<slug:slug>/import/columns/<str:public_id>/",
        view("studies.pages.mapping_views:columns"),
        name="import-columns",
    ),
    path(
        "<slug:slug>/import/columns/<str:public_id>/mapping.json",
        view("studies.pages.mapping_views:mapping_file"),
        name="import-mapping",
    ),
    path(
        "<slug:slug>/import/columns/<str:public_id>/item/<int:number>/",
        framed_here(view("studies.pages.mapping_views:preview_item")),
        name="import-preview",
    ),
    path(
        "<slug:slug>/import/<str:public_id>/",
        view("studies.pages.import_views:import_job", progress="import_status"),
        name="import-job",
    ),
    path("<slug:slug>/items/", view("studies.pages.views:items"), name="items"),
    path(
        "<slug:slug>/team/",
        view(
            "studies.pages.team_views:members", "invite", "remove", "withdraw", role="change_role"
        ),
        name="team",
    ),
    path(
        "<slug:slug>/team/hand-over/",
        view("studies.pages.team_views:hand_over"),
        name="team-hand-over",
    ),
    path(
        "<slug:slug>/providers/",
        view("studies.pages.settings_views:providers", "decide"),
        name="providers",
    ),
    path(
        "<slug:slug>/whole/",
        view("studies.pages.team_views:whole_study", "archive", "copy", "delete", "retention"),
        name="whole",
    ),
]
