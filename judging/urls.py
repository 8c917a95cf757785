from django.urls import path, re_path

from judging import views

app_name = "judging"
urlpatterns = [
    path("panel/", views.panel, name="panel"),
    path("new/", views.new_campaign, name="new"),
    path(
        "campaign/<str:campaign_id>/",
        views.campaign_page,
        {"template": "judging/campaign.html"},
        name="campaign",
    ),
    path(
        "campaign/<str:campaign_id>/panel/",
        views.campaign_page,
        {"template": "judging/_campaign.html"},
        name="campaign-panel",
    ),
    re_path(
        r"^campaign/(?P<campaign_id>[\w-]{1,40})/(?P<action>pause|resume|cancel)/$",
        views.change_all,
        name="change-campaign",
    ),
    path("<str:run_id>/", views.run_page, name="run"),
    path("<str:run_id>/panel/", views.run_panel, name="run-panel"),
    re_path(
        r"^(?P<run_id>[\w-]{1,40})/(?P<action>pause|resume|cancel|retry)/$",
        views.change_run,
        name="change",
    ),
]
