from django.urls import path

from studies.pages import import_views, media_views, overview_views, settings_views, views
from studies.pages.framed import framed_here
from studies.pages.items import editing_views, mapping_views
from studies.pages.team import activity_views, member_views, provider_views, whole_study_views

app_name = "studies"
urlpatterns = [
    path("", views.list_page, name="list"),
    path("new/", settings_views.new, name="new"),
    path("<slug:slug>/", overview_views.detail, name="detail"),
    path("<slug:slug>/monitor/", overview_views.monitor_panel, name="monitor"),
    path("<slug:slug>/next-step/", overview_views.next_step, name="next-step"),
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
    path("<slug:slug>/media/<str:sha256>/", media_views.media, name="media"),
    path("<slug:slug>/items/", views.items, name="items"),
    path("<slug:slug>/items/<str:key>/edit/", editing_views.edit, name="item-edit"),
    path("<slug:slug>/items/<str:key>/persona/", editing_views.persona, name="item-persona"),
    path("<slug:slug>/items/<str:key>/delete/", editing_views.delete, name="item-delete"),
    # Not below items/, where it could be the address of an item.
    path("<slug:slug>/delete-items/", editing_views.delete_all, name="items-delete"),
    path("<slug:slug>/team/", member_views.members, name="team"),
    path("<slug:slug>/team/invite/", member_views.invite, name="team-invite"),
    path("<slug:slug>/team/withdraw/", member_views.withdraw, name="team-withdraw"),
    path("<slug:slug>/team/role/", member_views.change_role, name="team-role"),
    path("<slug:slug>/team/remove/", member_views.remove, name="team-remove"),
    path("<slug:slug>/team/hand-over/", member_views.hand_over, name="team-hand-over"),
    path("<slug:slug>/providers/", provider_views.providers, name="providers"),
    path("<slug:slug>/providers/decide/", provider_views.decide, name="providers-decide"),
    path("<slug:slug>/activity/", activity_views.activity, name="activity"),
    path("<slug:slug>/whole/", whole_study_views.whole_study, name="whole"),
    path("<slug:slug>/whole/copy/", whole_study_views.copy, name="copy"),
    path("<slug:slug>/whole/archive/", whole_study_views.archive, name="archive"),
    path("<slug:slug>/whole/retention/", whole_study_views.retention, name="retention"),
    path("<slug:slug>/whole/delete/", whole_study_views.delete, name="delete"),
]
