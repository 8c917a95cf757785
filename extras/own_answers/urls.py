"""Participants’ pages, and researchers’ pages next to those of annotators."""

from django.urls import include, path

from studies.pages.addressed import view

_PARTICIPANTS = [
    path("profile/", view("extras.own_answers.profiles:profile"), name="profile"),
    path("retest/", view("extras.own_answers.second_visits:retest"), name="retest"),
    path(
        "retest/<int:position>/",
        view("extras.own_answers.second_visits:retest_item"),
        name="retest-item",
    ),
]
_RESEARCHERS = [
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
urlpatterns = [
    path("s/<slug:slug>/", include((_PARTICIPANTS, "own_answers"))),
    path("studies/<slug:slug>/people/", include((_RESEARCHERS, "own_people"))),
]
