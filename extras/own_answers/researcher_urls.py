"""Pages of researchers, below /studies/<slug>/people/."""

from django.urls import path

from extras.own_answers import linked_pages, second_visit_pages

app_name = "own_people"
urlpatterns = [
    path("linked/", linked_pages.linked, name="linked"),
    path("second-visits/", second_visit_pages.second_visits, name="second-visits"),
    path("second-visits/ids/", second_visit_pages.due_ids, name="second-visit-ids"),
]
