"""Researchers' pages, below /studies/<slug>/people/."""

from django.urls import path

from extras.own_answers import bringing_back, follow_ups, linked_studies, wave_pages

app_name = "own_people"
urlpatterns = [
    path("follow-ups/", follow_ups.follow_ups, name="follow-ups"),
    path("linked/", linked_studies.linked, name="linked"),
    path("waves/", wave_pages.waves, name="waves"),
    path("waves/invite/", wave_pages.invite, name="invite-wave"),
    path("waves/leave/", wave_pages.leave, name="leave-series"),
    path("waves/project/", wave_pages.project, name="wave-project"),
    path("second-visits/", bringing_back.second_visits, name="second-visits"),
    path("second-visits/prolific/", bringing_back.on_prolific, name="second-visits-on-prolific"),
    path("second-visits/ids/", bringing_back.due_ids, name="second-visit-ids"),
]
