from django.urls import path, re_path

from judging.pages import campaign_views, judge_views, views, wording_views

app_name = "judging"
urlpatterns = [
    path("", views.runs_page, {"template": "judging/list.html"}, name="list"),
    path("list/panel/", views.runs_page, {"template": "judging/_list.html"}, name="list-panel"),
    path("new/", campaign_views.new_campaign, name="new"),
    path(
        "campaign/<str:campaign_id>/",
        campaign_views.campaign_page,
        {"template": "judging/campaign.html"},
        name="campaign",
    ),
    path(
        "campaign/<str:campaign_id>/panel/",
        campaign_views.campaign_page,
        {"template": "judging/_campaign.html"},
        name="campaign-panel",
    ),
    re_path(
        r"^campaign/(?P<campaign_id>[\w-]{1,40})/"
        r"(?P<action>pause|resume|cancel|start|refuse|probe)/$",
        campaign_views.change_all,
        name="change-campaign",
    ),
    path("available/", judge_views.judges_page, name="judges"),
    path("available/add/", judge_views.add_judge, name="add-judge"),
    path("available/<int:judge_id>/", judge_views.judge_page, name="judge"),
    path("available/<int:judge_id>/change/", judge_views.change_judge, name="change-judge"),
    path("available/<int:judge_id>/test/", judge_views.test_judge, name="test-judge"),
    re_path(
        r"^available/(?P<judge_id>\d{1,9})/(?P<action>retire|offer|remove-key|delete)/$",
        judge_views.change_offer,
        name="change-offer",
    ),
    path("wordings/", wording_views.wordings_page, name="wordings"),
    path("wordings/write/", wording_views.write_wording, name="write-wording"),
    path("wordings/<str:wording_id>/", wording_views.wording_page, name="wording"),
    path("wordings/<str:wording_id>/delete/", wording_views.remove_wording, name="delete-wording"),
    path("<str:run_id>/", views.run_page, name="run"),
    path("<str:run_id>/panel/", views.run_panel, name="run-panel"),
    path("<str:run_id>/extend/", views.extend_run, name="extend"),
    path("<str:run_id>/structured/", views.go_on, name="go-on"),
    re_path(
        r"^(?P<run_id>[\w-]{1,40})/"
        r"(?P<action>pause|resume|cancel|retry|leave-out|take-back)/$",
        views.change_run,
        name="change",
    ),
]
