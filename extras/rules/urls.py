"""Pages of a study: rules that may explain its disagreements."""

from django.urls import path

from studies.pages.addressed import view

app_name = "rules"
urlpatterns = [
    path("why/", view("extras.rules.views:why", "again", progress="status"), name="why"),
]
