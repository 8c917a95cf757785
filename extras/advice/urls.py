"""Addresses below /studies/<slug>/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "advice"
urlpatterns = [
    path("debates/", view("extras.advice.pages:debates"), name="debates"),
    path("debates/status/", view("extras.advice.pages:debates_status"), name="debates-status"),
    path("debates/<str:job_id>/rest/", view("extras.advice.pages:write_rest"), name="debates-rest"),
    path(
        "debates/<str:job_id>/study/", view("extras.advice.pages:create_arms"), name="debates-study"
    ),
    path(
        "judges/campaign/<str:campaign_id>/discuss/<int:jury_id>/",
        view("extras.advice.discussions:discuss"),
        name="discuss",
    ),
]
