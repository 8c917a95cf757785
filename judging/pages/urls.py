from django.urls import path, re_path

from studies.pages.addressed import view

app_name = "judging"
urlpatterns = [
    path("", view("judging.pages.views:runs_page"), {"template": "judging/list.html"}, name="list"),
    path(
        "list/panel/",
        view("judging.pages.views:runs_page"),
        {"template": "judging/_list.html"},
        name="list-panel",
    ),
    path("new/", view("judging.pages.campaign_views:new_campaign"), name="new"),
    path(
        "campaign/<str:campaign_id>/",
        view("judging.pages.campaign_views:campaign_page"),
        {"template": "judging/campaign.html"},
        name="campaign",
    ),
    path(
        "campaign/<str:campaign_id>/panel/",
        view("judging.pages.campaign_views:campaign_page"),
        {"template": "judging/_campaign.html"},
        name="campaign-panel",
    ),
    re_path(
        r"^campaign/(?P<campaign_id>[\w-]{1,40})/"
        r"(?P<action>pause|resume|cancel|start|refuse|probe)/$",
        view("judging.pages.campaign_views:change_all"),
        name="change-campaign",
    ),
    path("available/", view("judging.pages.judge_views:judges_page"), name="judges"),
    path("available/add/", view("judging.pages.judge_views:add_judge"), name="add-judge"),
    path("available/<int:judge_id>/", view("judging.pages.judge_views:judge_page"), name="judge"),
    path(
        "available/<int:judge_id>/change/",
        view("judging.pages.judge_views:change_judge"),
        name="change-judge",
    ),
    path(
        "available/<int:judge_id>/test/",
        view("judging.pages.judge_views:test_judge"),
        name="test-judge",
    ),
    re_path(
        r"^available/(?P<judge_id>\d{1,9})/(?P<action>retire|offer|remove-key|delete)/$",
        view("judging.pages.judge_views:change_offer"),
        name="change-offer",
    ),
    path("wordings/", view("judging.pages.wording_views:wordings_page"), name="wordings"),
    path(
        "wordings/write/", view("judging.pages.wording_views:write_wording"), name="write-wording"
    ),
    path(
        "wordings/<str:wording_id>/",
        view("judging.pages.wording_views:wording_page"),
        name="wording",
    ),
    path(
        "wordings/<str:wording_id>/delete/",
        view("judging.pages.wording_views:remove_wording"),
        name="delete-wording",
    ),
    path("<str:run_id>/", view("judging.pages.views:run_page"), name="run"),
    path("<str:run_id>/panel/", view("judging.pages.views:run_panel"), name="run-panel"),
    path("<str:run_id>/extend/", view("judging.pages.views:extend_run"), name="extend"),
    path("<str:run_id>/structured/", view("judging.pages.views:go_on"), name="go-on"),
    re_path(
        r"^(?P<run_id>[\w-]{1,40})/"
        r"(?P<action>pause|resume|cancel|retry|leave-out|take-back)/$",
        view("judging.pages.views:change_run"),
        name="change",
    ),
]
