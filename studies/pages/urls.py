from django.urls import path

from studies.pages import (
    extra_views,
    import_views,
    mapping_views,
    overview_views,
    settings_views,
    team_views,
    views,
)
from studies.pages.responses import framed_here

app_name = "studies"
urlpatterns = [
    path("", views.list_page, name="list"),
    path("new/", settings_views.new, name="new"),
    path("<slug:slug>/", overview_views.detail, name="detail"),
    path("<slug:slug>/monitor/", overview_views.monitor_panel, name="monitor"),
    path("<slug:slug>/next-step/", overview_views.next_step, name="next-step"),
    path("<slug:slug>/launch/", overview_views.launch, name="launch"),
    path("<slug:slug>/settings/", settings_views.settings, name="settings"),
    path("<slug:slug>/settings/extras/", extra_views.extras, name="extras"),
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
    path("<slug:slug>/media/<str:sha256>/", views.media, name="media"),
    path("<slug:slug>/items/", views.items, name="items"),
    path("<slug:slug>/team/", team_views.members, name="team"),
    path("<slug:slug>/team/invite/", team_views.invite, name="team-invite"),
    path("<slug:slug>/team/withdraw/", team_views.withdraw, name="team-withdraw"),
    path("<slug:slug>/team/role/", team_views.change_role, name="team-role"),
    path("<slug:slug>/team/remove/", team_views.remove, name="team-remove"),
    path("<slug:slug>/team/hand-over/", team_views.hand_over, name="team-hand-over"),
    path("<slug:slug>/providers/", settings_views.providers, name="providers"),
    path("<slug:slug>/providers/decide/", settings_views.decide, name="providers-decide"),
    path("<slug:slug>/whole/", team_views.whole_study, name="whole"),
    path("<slug:slug>/whole/copy/", team_views.copy, name="copy"),
    path("<slug:slug>/whole/archive/", team_views.archive, name="archive"),
    path("<slug:slug>/whole/retention/", team_views.retention, name="retention"),
    path("<slug:slug>/whole/delete/", team_views.delete, name="delete"),
]
