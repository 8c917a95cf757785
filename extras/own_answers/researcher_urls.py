"""Researchers' pages, below /studies/<slug>/people/."""

from django.urls import path

from studies.pages.addressed import view

app_name = "own_people"
urlpatterns = [
    path("follow-ups/", view("extras.own_answers.follow_ups:follow_ups"), name="follow-ups"),
    path("linked/", view("extras.own_answers.linked_studies:linked"), name="linked"),
    path(
        "waves/",
        view("extras.own_answers.wave_pages:waves", "invite", "leave", "project"),
        name="waves",
    ),
    path(
        "second-visits/",
        view(
            "extras.own_answers.bringing_back:second_visits",
            ids="due_ids",
            **dict.fromkeys(
                ["draft", "publish", "start", "stop", "discard", "invite"], "on_prolific"
            ),
        ),
        name="second-visits",
    ),
]
