"""Researchers' pages, below /studies/<slug>/people/."""

from django.urls import path

from extras.own_answers import linked_studies, second_visits

app_name = "own_people"
urlpatterns = [
    path("linked/", linked_studies.linked, name="linked"),
    path("second-visits/", second_visits.second_visits, name="second-visits"),
    path("second-visits/ids/", second_visits.due_ids, name="second-visit-ids"),
]
