"""Researchers' pages, below /studies/<slug>/people/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "own_people"
urlpatterns = [
    path("follow-ups/", view("extras.own_answers.follow_ups:follow_ups"), name="follow-ups"),
    path("linked/", view("extras.own_answers.linked_studies:linked"), name="linked"),
    path("waves/", view("extras.own_answers.wave_pages:waves"), name="waves"),
    path("waves/invite/", view("extras.own_answers.wave_pages:invite"), name="invite-wave"),
    path("waves/leave/", view("extras.own_answers.wave_pages:leave"), name="leave-series"),
    path("waves/project/", view("extras.own_answers.wave_pages:project"), name="wave-project"),
    path(
        "second-visits/",
        view("extras.own_answers.bringing_back:second_visits"),
        name="second-visits",
    ),
    path(
        "second-visits/prolific/",
        view("extras.own_answers.bringing_back:on_prolific"),
        name="second-visits-on-prolific",
    ),
    path(
        "second-visits/ids/",
        view("extras.own_answers.bringing_back:due_ids"),
        name="second-visit-ids",
    ),
]
