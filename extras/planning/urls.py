from django.urls import path

from studies.pages.addressed import view

app_name = "planning"
urlpatterns = [
    path("", view("extras.planning.views:forecast"), name="forecast"),
    path("plan/", view("extras.planning.plan_views:plan"), name="plan"),
    path("status/", view("extras.planning.views:status"), name="status"),
    path("watched/", view("extras.planning.views:watched_comparison"), name="watched"),
]
