"""Addresses below /studies/<slug>/."""

from django.urls import path

from extras.advice import discussions, pages

app_name = "advice"
urlpatterns = [
    path("debates/", pages.debates, name="debates"),
    path("debates/status/", pages.debates_status, name="debates-status"),
    path("debates/<str:job_id>/rest/", pages.write_rest, name="debates-rest"),
    path("debates/<str:job_id>/study/", pages.create_arms, name="debates-study"),
    path(
        "judges/campaign/<str:campaign_id>/discuss/<int:jury_id>/",
        discussions.discuss,
        name="discuss",
    ),
]
