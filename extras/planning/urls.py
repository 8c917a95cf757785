from django.urls import path

from studies.pages.addressed import view

app_name = "planning"
urlpatterns = [
    path("", view("extras.planning.views:forecast", progress="status"), name="forecast"),
    path("plan/", view("extras.planning.plan_views:plan"), name="plan"),
    path("watched/", view("extras.planning.views:watched_comparison"), name="watched"),
]
