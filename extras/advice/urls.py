"""Addresses below /studies/<slug>/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "advice"
urlpatterns = [
    path(
        "debates/",
        view(
            "extras.advice.pages:debates",
            rest="write_rest",
            study="create_arms",
            progress="debates_status",
        ),
        name="debates",
    ),
    path(
        "judges/campaign/<str:campaign_id>/discuss/<int:jury_id>/",
        view("extras.advice.discussions:discuss"),
        name="discuss",
    ),
]
