from django.urls import path

from studies.pages.addressed import view

app_name = "judging"
urlpatterns = [
    path("", view("judging.pages.views:runs_page"), name="list"),
    path(
        "list/panel/",
        view("judging.pages.views:runs_page"),
        {"template": "judging/_list.html"},
        name="list-panel",
    ),
    path("new/", view("judging.pages.campaign_views:new_campaign"), name="new"),
    path(
        "campaign/<str:campaign_id>/",
        view(
            "judging.pages.campaign_views:campaign_page",
            **dict.fromkeys(
                ["pause", "resume", "cancel", "start", "refuse", "probe"], "change_all"
            ),
        ),
        name="campaign",
    ),
    path(
        "campaign/<str:campaign_id>/panel/",
        view("judging.pages.campaign_views:campaign_page"),
        {"template": "judging/_campaign.html"},
        name="campaign-panel",
    ),
    path("available/", view("judging.pages.judge_views:judges_page"), name="judges"),
    path("available/add/", view("judging.pages.judge_views:add_judge"), name="add-judge"),
    path(
        "available/<int:judge_id>/",
        view(
            "judging.pages.judge_views:judge_page",
            test="test_judge",
            **dict.fromkeys(["retire", "offer", "remove_key", "delete"], "change_offer"),
        ),
        name="judge",
    ),
    path(
        "available/<int:judge_id>/change/",
        view("judging.pages.judge_views:change_judge"),
        name="change-judge",
    ),
    path("wordings/", view("judging.pages.wording_views:wordings_page"), name="wordings"),
    path(
        "wordings/write/", view("judging.pages.wording_views:write_wording"), name="write-wording"
    ),
    path(
        "wordings/<str:wording_id>/",
        view("judging.pages.wording_views:wording_page", delete="remove_wording"),
        name="wording",
    ),
    path(
        "<str:run_id>/",
        view(
            "judging.pages.views:run_page",
            structured="go_on",
            **dict.fromkeys(
                ["pause", "resume", "cancel", "retry", "leave_out", "take_back"], "change_run"
            ),
        ),
        name="run",
    ),
    path("<str:run_id>/panel/", view("judging.pages.views:run_panel"), name="run-panel"),
    path("<str:run_id>/extend/", view("judging.pages.views:extend_run"), name="extend"),
]
